package controllers

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

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
