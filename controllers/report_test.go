package controllers

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
	"offramp.dev/migration"
	"offramp.dev/observe"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func reporter() *EntryPoints {
	return &EntryPoints{Ports: &Ports{Ports: observe.Ports{Now: func() time.Time { return noon }}}}
}

func TestOnlyWhatIsMetIsTrueAndOnlyWhatCouldNotBeSeenIsUnknown(t *testing.T) {
	t.Parallel()
	for verdict, want := range map[migration.Verdict]metav1.ConditionStatus{
		migration.Met: metav1.ConditionTrue, migration.Moot: metav1.ConditionTrue, migration.NotApplicable: metav1.ConditionTrue,
		migration.Unknown: metav1.ConditionUnknown, migration.Unmet: metav1.ConditionFalse, migration.Waiting: metav1.ConditionFalse,
		migration.Held: metav1.ConditionFalse, migration.Later: metav1.ConditionFalse, "": metav1.ConditionUnknown,
	} {
		if got := gateStatus(verdict); got != want {
			t.Errorf("%q: %s", verdict, got)
		}
	}
}

func TestSummaryIsKstatusConformant(t *testing.T) {
	t.Parallel()
	row := func(v migration.Verdict, reason string) migration.Decision {
		return migration.Decision{At: migration.Row{Gate: migration.GateStaged, Verdict: v, Reason: reason, Message: "m"}}
	}
	cases := map[string]struct {
		goal                        v1alpha1.Goal
		d                           migration.Decision
		err                         error
		ready, reconciling, stalled bool
		reason                      string
	}{
		"a walk that waits reconciles":              {goal: v1alpha1.GoalStage, d: row(migration.Waiting, "Soaking"), reconciling: true, reason: "Soaking"},
		"a walk that a human must move stalls":      {goal: v1alpha1.GoalStage, d: row(migration.Held, migration.ReasonNotApproved), stalled: true, reason: migration.ReasonNotApproved},
		"a walk at its goal is ready":               {goal: v1alpha1.GoalStage, d: row(migration.Held, migration.ReasonGoalReached), ready: true, reason: migration.ReasonGoalReached},
		"a walk with nothing to undo is ready":      {goal: v1alpha1.GoalStage, d: row(migration.Met, migration.ReasonNothingToUndo), ready: true, reason: migration.ReasonNothingToUndo},
		"a walk that ended is ready":                {goal: v1alpha1.GoalForget, d: migration.Decision{Ended: true, At: migration.Row{Gate: migration.GateForgotten, Verdict: migration.Met}}, ready: true, reason: "Forgotten"},
		"a report with nothing in the way is ready": {goal: v1alpha1.GoalReport, d: row(migration.Held, migration.ReasonReportOnly), ready: true, reason: migration.ReasonReportOnly},
		"an action that failed tells why": {
			goal: v1alpha1.GoalStage, d: row(migration.Unmet, "ChangingNames"), err: fmt.Errorf("x: %w", &dnsctl.UpdateError{Class: dnsctl.ClassAuth}),
			reconciling: true, reason: "DNSUpdateAuth",
		},
		"any other failure has a code too": {goal: v1alpha1.GoalStage, d: row(migration.Unmet, "Applying"), err: errors.New("no"), reconciling: true, reason: "ActionFailed"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ep := &v1alpha1.EntryPoint{ObjectMeta: metav1.ObjectMeta{Generation: 7}}
			reporter().summary(ep, migration.Facts{Intent: migration.Intent{Goal: c.goal}}, c.d, c.err)
			for kind, want := range map[string]bool{ConditionReady: c.ready, ConditionReconciling: c.reconciling, ConditionStalled: c.stalled} {
				got := meta.FindStatusCondition(ep.Status.Conditions, kind)
				if got == nil || (got.Status == metav1.ConditionTrue) != want || got.Reason != c.reason || got.ObservedGeneration != 7 {
					t.Errorf("%s: %+v", kind, got)
				}
			}
		})
	}
}

func TestAStatusIsNotWrittenForPacketsAlone(t *testing.T) {
	t.Parallel()
	at := metav1.NewTime(noon)
	a := &v1alpha1.EntryPointStatus{Drain: &v1alpha1.DrainStatus{Established: 5}}
	b := &v1alpha1.EntryPointStatus{Drain: &v1alpha1.DrainStatus{Established: 9, QuietSince: &at}}
	if !same(a, b) {
		t.Error("nine connections instead of five are worth no write")
	}
	b.Drain.Established = 0
	if same(a, b) {
		t.Error("that nobody is left is worth a write")
	}
	c := a.DeepCopy()
	c.PlanHash = "x"
	if same(a, c) {
		t.Error("another plan is worth a write")
	}
}

func TestAStatusStaysWithinItsCaps(t *testing.T) {
	t.Parallel()
	s := &v1alpha1.EntryPointStatus{
		Addresses: make([]string, 5000), Findings: make([]v1alpha1.Finding, 5000), Next: &v1alpha1.NextStep{Message: strings.Repeat("x", 9999)},
	}
	cut(s)
	if len(s.Addresses) > v1alpha1.MaxStatusItems || len(s.Findings) > v1alpha1.MaxFindings || len(s.Next.Message) > v1alpha1.MaxMessage {
		t.Errorf("%d addresses, %d findings, message of %d", len(s.Addresses), len(s.Findings), len(s.Next.Message))
	}
}

func TestTheShareIsReportedAsAskedForAndAsSeen(t *testing.T) {
	t.Parallel()
	quarter := dnsctl.Step(1)
	shifting := func(before, after migration.Seen[int64]) migration.Facts {
		return migration.Facts{
			Now: noon.Add(time.Millisecond),
			Record: migration.Record{
				Exists: true, Stamps: []migration.Stamp{{Kind: v1alpha1.StampIntent, Step: quarter}},
				Plans: []migration.AttemptPlan{{Plan: &migration.Plan{Settings: migration.Settings{Percents: []int32{25, 50, 100}, StepSoak: 600}}}},
			},
			Names: []migration.NameFacts{{Name: dnsctl.Name{
				Name: "www.example.org", Zone: "example",
				Snapshot: dnsctl.RecordSet{A: dnsctl.RRset{Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.1")}, TTL: 300}},
				Old:      []netip.Addr{netip.MustParseAddr("192.0.2.1")}, New: []netip.Addr{netip.MustParseAddr("203.0.113.1")}, LowTTL: 30,
			}}},
			OldUse: migration.Use{Established: before}, NewUse: migration.Use{Established: after},
		}
	}
	of := func(measured *int32, unknown string) *v1alpha1.ShareStatus {
		return &v1alpha1.ShareStatus{
			NominalPercent: 25, ExpectedErrorPoints: 2, MeasuredPercent: measured, Unknown: unknown, MeasuredAt: metav1.NewTime(noon),
		}
	}
	unrecorded, unnamed := shifting(migration.See[int64](3), migration.See[int64](1)), shifting(migration.See[int64](3), migration.See[int64](1))
	unrecorded.Record.Exists, unnamed.Names = false, nil
	for name, tt := range map[string]struct {
		facts migration.Facts
		want  *v1alpha1.ShareStatus
	}{
		"one of four connections is new": {shifting(migration.See[int64](3), migration.See[int64](1)), of(new(int32(25)), "")},
		"none of three is seen as none":  {shifting(migration.See[int64](3), migration.See[int64](0)), of(new(int32(0)), "")},
		"unknown is never nothing":       {shifting(migration.See[int64](3), migration.Unseen[int64]("no agent")), of(nil, "the new path: no agent")},
		"a long reason fits": {
			shifting(migration.Unseen[int64](strings.Repeat("x", 9999)), migration.See[int64](1)), of(nil, clip("the old path: "+strings.Repeat("x", 9999))),
		},
		"nothing is asked before the record":   {unrecorded, nil},
		"nothing is asked where no name moves": {unnamed, nil},
	} {
		if got := shiftOf(tt.facts); !equality.Semantic.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %+v, want %+v", name, got, tt.want)
		}
	}
}

func TestAMeasuredShareIsWrittenOnceAMinuteAndOnlyIfItMoved(t *testing.T) {
	t.Parallel()
	status := func(nominal int32, measured *int32, unknown string, after time.Duration) *v1alpha1.EntryPointStatus {
		return &v1alpha1.EntryPointStatus{Share: &v1alpha1.ShareStatus{
			NominalPercent: nominal, MeasuredPercent: measured, Unknown: unknown, MeasuredAt: metav1.NewTime(noon.Add(after)),
		}}
	}
	before, unmeasured := status(25, new(int32(20)), "", 0), status(25, nil, "no connection is open", 0)
	const minute = shareRests
	for name, tt := range map[string]struct {
		before, after *v1alpha1.EntryPointStatus
		same          bool
	}{
		"time alone is no news":                        {before, status(25, new(int32(20)), "", time.Hour), true},
		"four points are no news":                      {before, status(25, new(int32(24)), "", time.Hour), true},
		"five points up after a minute":                {before, status(25, new(int32(25)), "", minute), false},
		"five points down after a minute":              {before, status(25, new(int32(15)), "", minute), false},
		"all of it within a minute waits":              {before, status(25, new(int32(100)), "", minute-time.Second), true},
		"the last connection ended, a minute ago":      {before, status(25, nil, "no connection is open", minute), false},
		"the last connection ended within the minute":  {before, status(25, nil, "no connection is open", time.Second), true},
		"the first measurement after a minute":         {unmeasured, status(25, new(int32(0)), "", minute), false},
		"unknown still, for the same reason":           {unmeasured, status(25, nil, "no connection is open", time.Hour), true},
		"unknown for another reason":                   {unmeasured, status(25, nil, "the old path: no agent", time.Hour), false},
		"the next step is written at once":             {before, status(50, new(int32(20)), "", 0), false},
		"a share where there was none, at once":        {&v1alpha1.EntryPointStatus{}, before, false},
		"no share where there was one, at once":        {before, &v1alpha1.EntryPointStatus{}, false},
		"a clock that was set back is no reason to do": {before, status(25, new(int32(90)), "", -time.Hour), true},
	} {
		if got := same(tt.before, tt.after); got != tt.same {
			t.Errorf("%s: same is %t", name, got)
		}
	}
}
