package migration

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
)

func held1(f *Facts) { f.Record.Snapshot = &Snapshot{TakenAt: f.Record.Stamps[0].At} }

func TestTheWayBackIsOpenOnlyIfADryRunOfEveryStepPasses(t *testing.T) {
	t.Parallel()
	const shifted, released = "R I0 S0 I1 S1 I2 S2 I3 S3", "R I0 S0 I1 S1 I2 S2 I3 S3 L"
	fine := Return{Service: "shop/web"}
	with := func(edit func(*Return)) []Return {
		r := fine
		edit(&r)
		return []Return{r}
	}
	const denied = "Use of external IPs is denied by admission control"
	cases := map[string]struct {
		f       Facts
		members []Return
		verdict Verdict
		reason  string
		says    string
	}{
		"nothing is recorded": {scene("", -1, unrecorded), nil, Met, ReasonNothingToUndo, "nothing is changed"},
		"an undone walk":      {scene("R U", -1, held1), nil, Met, ReasonNothingToUndo, ""},
		"a forgotten walk":    {scene(released+" I4 S4 F", 4, taken), nil, Held, ReasonForgotten, "no way back"},
		"a record without a snapshot": {
			scene(released, 3, taken), []Return{fine}, Held, ReasonForgotten, sceneRecord,
		},
		"every dry run passes":                 {scene(released, 3, taken, held1), []Return{fine}, Met, ReasonDryRunPassed, ""},
		"before release too":                   {scene(shifted, 3, held1), []Return{fine}, Met, ReasonDryRunPassed, ""},
		"nobody looked":                        {scene(released, 3, taken, held1), nil, Unknown, ReasonRestoreUnknown, "shop/web was not looked at"},
		"the plugin refuses, before release":   {scene(shifted, 3, held1), with(func(r *Return) { r.Denied = denied }), Held, ReasonDenyEnabled, denied},
		"the plugin refuses, after release":    {scene(released, 3, taken, held1), with(func(r *Return) { r.Denied = denied }), Held, ReasonDenyEnabled, denied},
		"a webhook of somebody else refuses":   {scene(released, 3, taken, held1), with(func(r *Return) { r.Refused = "no" }), Held, ReasonRestoreRefused, "no"},
		"the API server does not answer":       {scene(released, 3, taken, held1), with(func(r *Return) { r.Unanswered = "timeout" }), Unknown, ReasonRestoreUnknown, "timeout"},
		"somebody applies it from elsewhere":   {scene(shifted, 3, held1), with(func(r *Return) { r.Owner = "Argo CD applies it" }), Held, ReasonOwnerMustRestore, "Argo CD"},
		"another hand took the field":          {scene(shifted, 3, held1, func(f *Facts) { f.Fields[0].Present = false }), []Return{fine}, Held, ReasonOwnerMustRestore, "another hand"},
		"what is back needs no owner":          {scene(released+" B", 3, held1, func(f *Facts) { f.Fields[0].Present = false }), []Return{fine}, Met, ReasonDryRunPassed, ""},
		"a member is gone":                     {scene(released, 3, held1, func(f *Facts) { f.Fields[0] = Field{Service: "shop/web", Missing: true} }), []Return{fine}, Held, ReasonServiceGone, "is gone"},
		"a member was created anew":            {scene(released, 3, taken, held1), with(func(r *Return) { r.Recreated = true }), Held, ReasonServiceGone, "created anew"},
		"somebody else holds the address":      {scene(released, 3, taken, held1, func(f *Facts) { f.Fields[0].Foreign = "Service other/x" }), []Return{fine}, Held, ReasonAddressTaken, "Service other/x"},
		"nothing attracts the old path":        {scene(released, 3, taken, held1), with(func(r *Return) { r.Unattracted = "node b is gone" }), Held, ReasonNotAttracted, "node b"},
		"nobody knows what attracts it":        {scene(released, 3, taken, held1), with(func(r *Return) { r.Unseen = "no policy says" }), Unknown, ReasonRestoreUnknown, "no policy"},
		"before release attraction is no news": {scene(shifted, 3, held1), with(func(r *Return) { r.Unseen, r.Unattracted = "?", "?" }), Met, ReasonDryRunPassed, ""},
		"a name of somebody else": {
			scene(shifted, 3, held1, server(0, func(a *dnsctl.Answer) { a.Foreign = "v=other" })), []Return{fine}, Held, ReasonNameOwned, "www.example.org",
		},
		"a silent name server": {
			scene(shifted, 3, held1, func(f *Facts) { f.Names[0].Servers[0] = Unseen[dnsctl.Answer]("timeout") }),
			[]Return{fine},
			Unknown, ReasonRestoreUnknown, "www.example.org",
		},
		"the old path is known to fail": {
			scene(shifted, 3, held1, func(f *Facts) { f.Old = Path{Healthy: See(false), Detail: "refused"} }), []Return{fine}, Held, ReasonOldPathFailed, "refused",
		},
		"after release it cannot answer, and that is no failure": {
			scene(released, 3, taken, held1, func(f *Facts) { f.Old = Path{Healthy: See(false), Detail: "no field"} }), []Return{fine}, Met, ReasonDryRunPassed, "",
		},
		"what holds goes before what is unknown": {
			scene(released, 3, taken, held1), with(func(r *Return) { r.Unanswered, r.Owner = "timeout", "Flux applies it" }), Held, ReasonOwnerMustRestore, "timeout",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Rollback(c.f, c.members)
			if got.Verdict != c.verdict || got.Reason != c.reason || !strings.Contains(got.Message, c.says) {
				t.Errorf("%s %s %q, want %s %s with %q", got.Verdict, got.Reason, got.Message, c.verdict, c.reason, c.says)
			}
		})
	}
}

func TestTheFactsOfADecisionAreNotTurnedBackByAsking(t *testing.T) {
	t.Parallel()
	f := scene("R I0 S0", 0, held1)
	before := Decide(f).String()
	Rollback(f, []Return{{Service: "shop/web"}})
	if f.Intent.Direction != v1alpha1.DirectionForward || Decide(f).String() != before {
		t.Error("asking for the way back changed the facts")
	}
}

func TestRetention(t *testing.T) {
	t.Parallel()
	taken := time.Unix(1_800_000_000, 0).UTC()
	released := sceneStamps("R L")[1].At
	number := func(n int32) *int32 { return &n }
	policy := func(s v1alpha1.RetentionSettings) *v1alpha1.MigrationPolicy {
		return &v1alpha1.MigrationPolicy{Spec: v1alpha1.MigrationPolicySpec{Retention: s}}
	}
	wish := func(t time.Time) *v1alpha1.Retention { return &v1alpha1.Retention{Until: metav1.NewTime(t)} }
	day := 24 * time.Hour
	cases := map[string]struct {
		policy  *v1alpha1.MigrationPolicy
		wish    *v1alpha1.Retention
		journal string
		want    time.Time
		limited bool
	}{
		"nobody asks":                               {nil, nil, "R L", time.Time{}, false},
		"the policy counts from release":            {policy(v1alpha1.RetentionSettings{Seconds: number(3600)}), nil, "R L", released.Add(time.Hour), false},
		"before release it has not begun":           {policy(v1alpha1.RetentionSettings{Seconds: number(3600)}), nil, "R", time.Time{}, false},
		"nor after the field came back":             {policy(v1alpha1.RetentionSettings{Seconds: number(3600)}), nil, "R L B", time.Time{}, false},
		"a human extends":                           {policy(v1alpha1.RetentionSettings{Seconds: number(3600)}), wish(released.Add(day)), "R L", released.Add(day), false},
		"a wish never shortens":                     {policy(v1alpha1.RetentionSettings{Seconds: number(3600)}), wish(released), "R L", released.Add(time.Hour), false},
		"the policy bounds the wish":                {policy(v1alpha1.RetentionSettings{MaxSeconds: number(7200)}), wish(released.Add(day)), "R L", released.Add(2 * time.Hour), true},
		"without a policy a year is the bound":      {nil, wish(released.Add(400 * day)), "R L", released.Add(365 * day), true},
		"before release the snapshot's time counts": {policy(v1alpha1.RetentionSettings{MaxSeconds: number(7200)}), wish(released.Add(day)), "R", taken.Add(2 * time.Hour), true},
		"an undone walk retains nothing":            {nil, wish(released.Add(day)), "R L U", time.Time{}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := RetentionOf(c.policy, c.wish, Record{Snapshot: &Snapshot{TakenAt: taken}, Stamps: sceneStamps(c.journal)})
			if !got.Until.Equal(c.want) || (got.Limited != "") != c.limited {
				t.Errorf("until %s (%q), want %s", got.Until, got.Limited, c.want)
			}
		})
	}
}

func TestForgettingWaitsForTheRetentionAndItsEndForgetsNothing(t *testing.T) {
	t.Parallel()
	const settled = "R I0 S0 I1 S1 I2 S2 I3 S3 L I4 S4"
	retain := func(d time.Duration) func(*Facts) { return func(f *Facts) { f.RetainUntil = f.Now.Add(d) } }
	checkStands(t, map[string]stand{
		"it is kept while the retention lasts":       {scene(settled, 4, taken, retain(time.Hour)), GateForgotten, Waiting, ReasonRetained, ""},
		"its end alone forgets nothing":              {scene(settled, 4, taken, retain(-time.Hour), goal(v1alpha1.GoalRelease)), GateForgotten, Held, ReasonGoalReached, ""},
		"nor while the old address is used":          {scene(settled, 4, taken, retain(-time.Hour), func(f *Facts) { f.OldUse.QuietSince = See(f.Now) }), GateForgotten, Waiting, ReasonInUse, ""},
		"after it the five facts and the goal do it": {scene(settled, 4, taken, retain(-time.Hour)), GateForgotten, Unmet, ReasonForgetting, "drop the snapshot"},
	})
}
