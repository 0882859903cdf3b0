package migration

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
)

// stand is where a walk stands and what it does.
type stand struct {
	facts   Facts
	gate    Gate
	verdict Verdict
	reason  string
	// action begins like this; empty means that nothing is done.
	action string
}

func checkStands(t *testing.T, tests map[string]stand) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := Decide(tt.facts)
			if d.At.Gate != tt.gate || d.At.Verdict != tt.verdict || d.At.Reason != tt.reason {
				t.Errorf("stands at %s %s %s, want %s %s %s\n%s", d.At.Gate, d.At.Verdict, d.At.Reason, tt.gate, tt.verdict, tt.reason, d)
			}
			action := ""
			if d.Action != nil {
				action = d.Action.String()
			}
			if (action == "") != (tt.action == "") || !strings.HasPrefix(action, tt.action) {
				t.Errorf("does %q, want %q", action, tt.action)
			}
			checkRows(t, &d)
		})
	}
}

// checkRows holds every decision to the shape that readers rely on.
func checkRows(t *testing.T, d *Decision) {
	t.Helper()
	gates := Gates()
	if len(d.Rows) != len(gates) {
		t.Fatalf("%d rows for %d gates", len(d.Rows), len(gates))
	}
	known := knownReasons()
	for i, r := range d.Rows {
		if r.Gate != gates[i].Name || r.Verdict == "" || r.Reason == "" {
			t.Errorf("row %d is %+v", i, r)
		}
		if !known[r.Reason] && !strings.HasPrefix(r.Reason, "Step") && r.Reason != "NodeAddress" {
			t.Errorf("reason %s is not documented", r.Reason)
		}
		if r.Gate == d.At.Gate && !reflect.DeepEqual(r, d.At) {
			t.Errorf("row %+v differs from where the walk stands: %+v", r, d.At)
		}
	}
}

func knownReasons() map[string]bool {
	known := map[string]bool{}
	for _, r := range ReasonDocs() {
		known[r.Reason] = true
	}
	return known
}

func TestForwardStagesWhatIsAllowed(t *testing.T) {
	t.Parallel()
	finding := v1alpha1.Finding{Reason: "NodeAddress", Object: "Service shop/web", Message: "the address is a node's"}
	blocked := func(f *Facts) { f.Blockers = []v1alpha1.Finding{finding} }
	checkStands(t, map[string]stand{
		"the goal Report does nothing": {
			scene("", -1, unrecorded, goal(v1alpha1.GoalReport)), GateRecorded, Held, ReasonReportOnly, "",
		},
		"an unknown goal is Report": {scene("", -1, unrecorded, goal("Everything")), GateRecorded, Held, ReasonReportOnly, ""},
		"a blocker shows under Report too": {
			scene("", -1, unrecorded, blocked, goal(v1alpha1.GoalReport)), GateEligible, Held, "NodeAddress", "",
		},
		"a blocker holds before the plan is recorded": {scene("", -1, unrecorded, blocked), GateEligible, Held, "NodeAddress", ""},
		"a blocker that comes later holds nothing":    {scene("R", -1, blocked), GateTTLLowered, Unmet, ReasonStamping, "stamp Intent(0)"},
		"no plan holds": {
			scene("", -1, unrecorded, func(f *Facts) { f.Live, f.LiveProblem = nil, "no pool" }), GateEligible, Held, ReasonNoPlan, "",
		},
		"an unknown guard is not a guard": {
			scene("", -1, unrecorded, func(f *Facts) { f.Guarded = Unseen[bool]("dry run failed") }), GateGuarded, Unknown, ReasonGuardUnknown, "",
		},
		"an open guard waits": {
			scene("R", -1, func(f *Facts) { f.Guarded = See(false) }), GateGuarded, Waiting, ReasonNotDenied, "",
		},
		"a waived guard passes": {
			scene("R", -1, waive(GateGuarded), func(f *Facts) { f.Guarded = See(false) }), GateTTLLowered, Unmet, ReasonStamping, "stamp Intent(0)",
		},
		"the plan is recorded first":    {scene("", -1, unrecorded), GateRecorded, Unmet, ReasonRecording, "record plan"},
		"recording needs no approval":   {scene("", -1, unrecorded, unapproved), GateRecorded, Unmet, ReasonRecording, "record plan"},
		"a freeze window holds forward": {scene("R", -1, frozen), GateTTLLowered, Held, ReasonFreezeWindow, ""},
		"a pause holds":                 {scene("R", -1, paused), GateTTLLowered, Held, ReasonPaused, ""},
		"claims come before objects": {
			scene("R", -1, func(f *Facts) { f.Claims, f.Target = Claims{}, Target{} }), GateClaimed, Unmet, ReasonClaiming, "claim",
		},
		"an address that another holds is not claimed": {
			scene("R", -1, func(f *Facts) { f.Claims = Claims{Conflicts: []string{"Service other/web"}} }), GateClaimed, Held, ReasonAddressTaken, "",
		},
		"the target is made as in the plan": {
			scene("R", -1, func(f *Facts) { f.Target = Target{Any: true, Difference: "ports"} }), GateStaged, Unmet, ReasonApplying, "apply the objects",
		},
		"an unknown path is not proven": {
			scene("R", -1, func(f *Facts) { f.New = Path{} }), GateProven, Unknown, ReasonPathUnknown, "",
		},
		"too few rounds do not prove": {
			scene("R", -1, func(f *Facts) { f.New.Rounds = 2 }), GateProven, Waiting, ReasonNotProven, "",
		},
		"a waiver stands in for missing probes": {
			scene("R", -1, waive(GateProven), func(f *Facts) { f.New = Path{} }), GateTTLLowered, Unmet, ReasonStamping, "stamp Intent(0)",
		},
		"a waiver does not hide a failing path": {
			scene("R", -1, waive(GateProven), func(f *Facts) { f.New = Path{Healthy: See(false)} }), GateProven, Waiting, ReasonNotProven, "",
		},
		"the goal Stage ends before names": {scene("R", -1, goal(v1alpha1.GoalStage)), GateTTLLowered, Held, ReasonGoalReached, ""},
		"past Stage the plan must be approved": {
			scene("R", -1, unapproved), GateTTLLowered, Held, ReasonNotApproved, "",
		},
		"a drifted plan holds": {
			scene("R", -1, func(f *Facts) { f.Live = scenePlan(v1alpha1.StrategyGateway) }), GateTTLLowered, Held, ReasonPlanDrifted, "",
		},
		"a plan that cannot be made anew holds": {
			scene("R", -1, func(f *Facts) { f.Live = nil }), GateTTLLowered, Held, ReasonPlanUnknown, "",
		},
		"a full journal takes no new attempt": {
			scene("R", -1, attempt(2), func(f *Facts) { f.Record.Full = true }), GateRecorded, Held, ReasonJournalFull, "",
		},
		"a new attempt is recorded": {scene("R", -1, attempt(2)), GateRecorded, Unmet, ReasonRecording, "record plan"},
		"a new plan waits for the path of the old one": {
			scene("R I0 S0 I1 S1 I2 S2", 2, attempt(2), func(f *Facts) { f.Live = scenePlan(v1alpha1.StrategyGateway) }),
			GateRecorded, Held, ReasonNewPathInUse, "",
		},
		"after Undone a new attempt starts over": {scene("R U", -1, attempt(2)), GateRecorded, Unmet, ReasonRecording, "record plan"},
	})
}

func unapproved(f *Facts) { f.Intent.ApprovedPlan = "" }

func frozen(f *Facts) { f.Frozen = "year end" }

func paused(f *Facts) { f.Intent.Paused = true }

func TestForwardShiftsStepByStep(t *testing.T) {
	t.Parallel()
	lag := server(1, func(a *dnsctl.Answer) { a.Records.A.TTL = 3600 })
	silent := func(i int) func(*Facts) {
		return func(f *Facts) { f.Names[0].Servers[i] = Unseen[dnsctl.Answer]("timeout") }
	}
	checkStands(t, map[string]stand{
		"the intent is stamped before the change": {scene("R", -1), GateTTLLowered, Unmet, ReasonStamping, "stamp Intent(0)"},
		"the TTL is lowered":                      {scene("R I0", -1), GateTTLLowered, Unmet, ReasonChangingNames, "change names to step 0"},
		"a lagging server is waited for":          {scene("R I0", 0, lag), GateTTLLowered, Waiting, ReasonServersLag, ""},
		"a silent server is not left out":         {scene("R I0", 0, silent(1)), GateTTLLowered, Unknown, ReasonNamesUnknown, ""},
		"a silent primary is unknown":             {scene("R I0", 0, silent(0)), GateTTLLowered, Unknown, ReasonNamesUnknown, ""},
		"a name without servers is unknown": {
			scene("R I0", 0, func(f *Facts) { f.Names[0].Servers = nil }), GateTTLLowered, Unknown, ReasonNamesUnknown, "",
		},
		"seen everywhere is stamped":          {scene("R I0", 0), GateTTLLowered, Unmet, ReasonStamping, "stamp Seen(0)"},
		"the old TTL passes after it is seen": {scene("R I0 S0", 0, afterLast(time.Hour)), GateTTLLowered, Waiting, ReasonTTLRunning, ""},
		"the first share is intended":         {scene("R I0 S0", 0), GateShifted, Unmet, "Step1Of3", "stamp Intent(1)"},
		"the slot's low set is met": {
			scene("R I0 S0 I1 S1", 1, afterLast(time.Minute), lowSlot), GateShifted, Waiting, "Step1Of3", "",
		},
		"the slot's high set is written": {
			scene("R I0 S0 I1", 1, func(f *Facts) { f.Now = f.Record.Stamps[3].At.Add(time.Second) }),
			GateShifted, Unmet, "Step1Of3", "change names to step 1",
		},
		"no slot is high after a gap": {
			scene("R I0 S0 I1", 1, func(f *Facts) { f.Slots = false }), GateShifted, Unmet, "Step1Of3", "stamp Seen(1)",
		},
		"a share soaks":       {scene("R I0 S0 I2 S2", 2, afterLast(time.Minute)), GateShifted, Waiting, "Step2Of3", ""},
		"no sample, no share": {scene("R I0 S0 I2 S2", 2, func(f *Facts) { f.New.Samples = 0 }), GateShifted, Waiting, "Step2Of3", ""},
		"one failure in fifty is too many": {
			scene("R I0 S0 I2 S2", 2, func(f *Facts) { f.New.Failures = 2 }), GateShifted, Waiting, "Step2Of3", "",
		},
		"one failure in a hundred is within the budget": {
			scene("R I0 S0 I2 S2", 2, func(f *Facts) { f.New.Failures = 1 }), GateShifted, Unmet, "Step3Of3", "stamp Intent(3)",
		},
		"the low TTL passes after the last share": {
			scene("R I0 S0 I3 S3", 3, afterLast(10*time.Second), soakedAtOnce), GateSettled, Waiting, ReasonTTLRunning, "",
		},
		"pausing in a high slot writes the safe set": {
			scene("R I0 S0 I1", 1, paused, highSlot), GateShifted, Unmet, ReasonSafeSet, "change names to step 1",
		},
		"the safe set is not written on a dead old path": {
			scene("R I0 S0 I1", 1, paused, highSlot, func(f *Facts) { f.Old.Healthy = See(false) }), GateShifted, Held, ReasonPaused, "",
		},
	})
}

// lowSlot puts the time into the low slot after the last intent's anchor.
func lowSlot(f *Facts) {
	f.Now = f.Record.Stamps[4].At.Add(10 * time.Second)
	f.Slots = false
}

func highSlot(f *Facts) {
	for i := range f.Names[0].Servers {
		f.Names[0].Servers[i].Value.Records = f.Names[0].Name.Allowed(1, []int32{25, 50, 100})[1]
	}
}

// soakedAtOnce lets a share step pass without its soak.
func soakedAtOnce(f *Facts) {
	p := scenePlan(v1alpha1.StrategyLoadBalancer)
	p.Settings.StepSoak = 0
	f.Live, f.Intent.ApprovedPlan = p, HashPlan(p)
	f.Record.Plans = []AttemptPlan{{Attempt: 1, Hash: HashPlan(p), Plan: p}}
}

func TestNamesOfOthersAreLeftAlone(t *testing.T) {
	t.Parallel()
	every := func(edit func(*dnsctl.Answer)) func(*Facts) {
		return func(f *Facts) { server(0, edit)(f); server(1, edit)(f) }
	}
	changedBack := every(func(a *dnsctl.Answer) { a.Records.A.TTL = 3600 })
	checkStands(t, map[string]stand{
		"a mark that cannot be read holds": {
			scene("R", -1, server(0, func(a *dnsctl.Answer) { a.Foreign = "heritage=x" })), GateTTLLowered, Held, ReasonNameOwned, "",
		},
		"another record's mark holds": {
			scene("R", -1, server(0, func(a *dnsctl.Answer) { a.Mark.Owner = "other-1" })), GateTTLLowered, Held, ReasonNameOwned, "",
		},
		"external-dns holds": {
			scene("R", -1, server(0, func(a *dnsctl.Answer) { a.External = "heritage=external-dns" })), GateTTLLowered, Held, ReasonNameExternal, "",
		},
		"a CNAME holds": {
			scene("R I0", -1, server(0, func(a *dnsctl.Answer) { a.Records = dnsctl.RecordSet{Alias: "cdn.example.net"} })),
			GateTTLLowered, Held, ReasonNameAlias, "",
		},
		"a name that no longer answers the snapshot holds": {
			scene("R", -1, server(0, func(a *dnsctl.Answer) { a.Records.A.TTL = 77 })), GateTTLLowered, Held, ReasonNameChanged, "",
		},
		"our mark beside another answer is stamped": {
			scene("R I0", 0, server(0, func(a *dnsctl.Answer) { a.Records.A.TTL = 3600 })), GateTTLLowered, Unmet, ReasonDiverged, "stamp Diverged(0)",
		},
		"a seen step that is no longer so is stamped": {
			scene("R I0 S0 I3 S3", 3, server(1, func(a *dnsctl.Answer) { a.Mark.Sequence = 0 })), GateShifted, Unmet, ReasonDiverged, "stamp Diverged(3)",
		},
		"a reverted edit holds":             {scene("R I0 S0 D0", 0, changedBack), GateTTLLowered, Held, ReasonReverted, ""},
		"a newer attempt may overwrite it":  {scene("R I0 S0 D0 R/2", 0, changedBack, nextAttempt), GateTTLLowered, Unmet, ReasonStamping, "stamp Intent(0)"},
		"a repaired edit is seen once more": {scene("R I0 S0 D0", 0), GateTTLLowered, Unmet, ReasonStamping, "stamp Seen(0)"},
		"both put back after the last step: the last share is due again": {
			scene("R I0 S0 I3 S3 L I4 D4 G R/2", 0, changedBack, nextAttempt, func(f *Facts) { f.Fields[0].Mark = 1 }),
			GateShifted, Unmet, "Step3Of3", "stamp Intent(3)",
		},
	})
}

func TestManualZonesAreNeverWritten(t *testing.T) {
	t.Parallel()
	manual := func(f *Facts) { f.Names[0].Manual = true }
	unmarked := func(f *Facts) {
		for i := range f.Names[0].Servers {
			f.Names[0].Servers[i].Value.Mark = dnsctl.Mark{}
		}
	}
	checkStands(t, map[string]stand{
		"the human is told what to change":    {scene("R I0", -1, manual), GateTTLLowered, Waiting, ReasonManualChange, ""},
		"right records need no mark":          {scene("R I0", 0, manual, unmarked), GateTTLLowered, Unmet, ReasonStamping, "stamp Seen(0)"},
		"a share waits for the human":         {scene("R I0 S0 I2", 0, manual, unmarked), GateShifted, Waiting, ReasonManualChange, ""},
		"any set of a slot step will do":      {scene("R I0 S0 I1", 1, manual, unmarked, highSlot), GateShifted, Unmet, "Step1Of3", "stamp Seen(1)"},
		"on the way back the human goes back": {scene("R I0 S0 I3 S3 I0", 3, manual, unmarked, goBack), GateShifted, Waiting, ReasonManualChange, ""},
	})
}

func TestReleaseComesLast(t *testing.T) {
	t.Parallel()
	const shifted, released = "R I0 S0 I1 S1 I2 S2 I3 S3", "R I0 S0 I1 S1 I2 S2 I3 S3 L"
	busy := func(n int64, survives bool) func(*Facts) {
		return func(f *Facts) { f.OldUse.Established, f.OldUse.Survives = See(n), survives }
	}
	checkStands(t, map[string]stand{
		"unknown use is not quiet": {
			scene(shifted, 3, func(f *Facts) { f.OldUse.QuietSince = Unseen[time.Time]("node b is silent") }), GateDrained, Unknown, ReasonUseUnknown, "",
		},
		"unknown connections are not zero": {
			scene(shifted, 3, func(f *Facts) { f.OldUse.Established = Unseen[int64]("overflow") }), GateDrained, Unknown, ReasonUseUnknown, "",
		},
		"a new connection restarts the window": {
			scene(shifted, 3, func(f *Facts) { f.OldUse.QuietSince = See(f.Now.Add(-time.Minute)) }), GateDrained, Waiting, ReasonInUse, "",
		},
		"a connection that would be cut is waited for": {scene(shifted, 3, busy(1, false)), GateDrained, Waiting, ReasonInUse, ""},
		"one that survives is, past its declared life": {scene(shifted, 3, busy(1, true)), GateReleased, Unmet, ReasonReleasing, "remove the field"},
		"one that survives and may be young is waited for": {
			scene(shifted, 3, busy(1, true), func(f *Facts) { f.OldUse.QuietSince = See(f.Now.Add(-90 * time.Minute)) }), GateDrained, Waiting, ReasonInUse, "",
		},
		"a waiver shows what is left": {scene(shifted, 3, busy(5, false), waive(GateDrained)), GateReleased, Unmet, ReasonReleasing, "remove the field"},
		"CutOver stops before release": {
			scene(shifted, 3, goal(v1alpha1.GoalCutOver)), GateReleased, Held, ReasonGoalReached, "",
		},
		"the field goes":             {scene(shifted, 3), GateReleased, Unmet, ReasonReleasing, "remove the field from Service shop/web"},
		"then that is stamped":       {scene(shifted, 3, taken), GateReleased, Unmet, ReasonStamping, "stamp Released"},
		"then the path soaks":        {scene(released, 3, taken, afterLast(time.Minute)), GateSoaked, Waiting, ReasonSoaking, ""},
		"a failing path is not left": {scene(released, 3, taken, failing), GateSoaked, Waiting, ReasonNotProven, ""},
		"then the TTL goes up":       {scene(released, 3, taken), GateTTLRestored, Unmet, ReasonStamping, "stamp Intent(4)"},
		"after release the old use is moot": {
			scene(released, 3, taken, busy(9, false)), GateTTLRestored, Unmet, ReasonStamping, "stamp Intent(4)",
		},
		"a lost target is repaired although the goal is Report": {
			scene(released, 3, taken, goal(v1alpha1.GoalReport), func(f *Facts) { f.Target.Exact = false }), GateStaged, Unmet, ReasonRepairing, "apply",
		},
		"a field that somebody else put back is stamped": {
			scene(released, 3, func(f *Facts) { f.Fields[0].Mark = 1 }), GateReleased, Unmet, ReasonReturned, "stamp Returned",
		},
		"and not taken again in the attempt": {
			scene(released+" G", 3, func(f *Facts) { f.Fields[0].Mark = 1 }), GateReleased, Held, ReasonFieldReturned, "",
		},
		"but in the next": {
			scene(released+" G R/2", 3, nextAttempt, func(f *Facts) { f.Fields[0].Mark = 1 }), GateReleased, Unmet, ReasonReleasing, "remove the field",
		},
		"a member that is gone holds": {scene(shifted, 3, func(f *Facts) { f.Fields[0].Missing, f.Fields[0].Present = true, false }), GateReleased, Held, ReasonServiceGone, ""},
		"forgetting waits for the old TTL": {
			scene(released+" I4 S4", 4, taken, afterLast(time.Minute)), GateForgotten, Waiting, ReasonTTLRunning, "",
		},
		"forgetting waits for silence": {
			scene(released+" I4 S4", 4, taken, func(f *Facts) { f.OldUse.QuietSince = See(f.Now) }), GateForgotten, Waiting, ReasonInUse, "",
		},
		"forgetting looks for another holder": {
			scene(released+" I4 S4", 4, taken, func(f *Facts) { f.Fields[0].Foreign = "Service other/web" }), GateForgotten, Held, ReasonConflict, "",
		},
		"everything holds: the snapshot goes": {scene(released+" I4 S4", 4, taken), GateForgotten, Unmet, ReasonForgetting, "drop the snapshot"},
		"forgotten is the end":                {scene(released+" I4 S4 F", 4, taken, goBack), GateForgotten, Met, ReasonForgotten, ""},
	})
}

func failing(f *Facts) { f.New = Path{Healthy: See(false), Samples: 9, Failures: 9} }

func TestFailureIsALatch(t *testing.T) {
	t.Parallel()
	const half = "R I0 S0 I1 S1 I2 S2"
	checkStands(t, map[string]stand{
		"a failed path under live names aborts": {scene(half, 2, failing), GateProven, Unmet, ReasonPathFailed, "stamp Abort(2)"},
		"under Report, pause, freeze and drift too": {
			scene(half, 2, failing, paused, frozen, goal(v1alpha1.GoalReport), func(f *Facts) { f.Live = nil }), GateProven, Unmet, ReasonPathFailed, "stamp Abort(2)",
		},
		"an unknown path aborts nothing": {scene(half, 2, func(f *Facts) { f.New = Path{} }), GateProven, Unknown, ReasonPathUnknown, ""},
		"samples over the budget abort": {
			scene(half, 2, func(f *Facts) { f.New.Failures, f.New.Rounds = failureBudget, 0 }), GateProven, Unmet, ReasonPathFailed, "stamp Abort(2)",
		},
		"a failed path without live names only waits": {scene("R I0 S0", 0, failing), GateProven, Waiting, ReasonNotProven, ""},
		"the names go back":                           {scene(half+" A2", 2), GateShifted, Unmet, ReasonStamping, "stamp Intent(0)"},
		"not on a dead old path": {
			scene(half+" A2", 2, func(f *Facts) { f.Old.Healthy = See(false) }), GateSettled, Held, ReasonOldPathFailed, "",
		},
		"not if the policy says Hold":        {scene(half+" A2", 2, holdOnFailure), GateProven, Held, ReasonAborted, ""},
		"and stay, though all is well again": {scene(half+" A2 I0 S0", 0), GateProven, Held, ReasonAborted, ""},
		"until the next attempt":             {scene(half+" A2 I0 S0 R/2", 0, nextAttempt), GateShifted, Unmet, "Step1Of3", "stamp Intent(1)"},
		"after release nothing goes back by itself": {
			scene("R I0 S0 I3 S3 L", 3, taken, failing), GateSoaked, Waiting, ReasonNotProven, "",
		},
	})
}

func holdOnFailure(f *Facts) {
	p := *f.Record.Plans[0].Plan
	p.Settings.OnFailure = v1alpha1.OnFailureHold
	f.Record.Plans = []AttemptPlan{{Attempt: 1, Hash: f.Record.Plans[0].Hash, Plan: &p}}
}

func TestBackWalksUp(t *testing.T) {
	t.Parallel()
	const done = "R I0 S0 I1 S1 I2 S2 I3 S3 L"
	used := func(f *Facts) { f.NewUse.Established, f.NewUse.Survives = See(int64(2)), true }
	checkStands(t, map[string]stand{
		"nothing done, nothing undone": {
			scene("", -1, unrecorded, goBack), GateUndone, Met, ReasonNothingToUndo, "",
		},
		"the field comes back first": {scene(done, 3, taken, goBack), GateReleased, Unmet, ReasonRestoring, "put the field of Service shop/web back"},
		"unless another holds the address": {
			scene(done, 3, taken, goBack, func(f *Facts) { f.Fields[0].Foreign = "Service other/web" }), GateReleased, Held, ReasonConflict, "",
		},
		"unless the API server refuses": {
			scene(done, 3, taken, goBack, func(f *Facts) { f.Fields[0].Refused = "denied by DenyServiceExternalIPs" }), GateReleased, Held, ReasonDenyEnabled, "",
		},
		"unless the Service is gone": {
			scene(done, 3, goBack, func(f *Facts) { f.Fields[0] = Field{Service: "shop/web", Missing: true} }), GateReleased, Held, ReasonServiceGone, "",
		},
		"what we did not take is not put back": {
			scene("R I0 S0 I3 S3", 3, goBack, func(f *Facts) { f.Fields[0].Present = false }), GateShifted, Unmet, ReasonStamping, "stamp Intent(0)",
		},
		"our own restoring is stamped":   {scene(done, 3, goBack), GateReleased, Unmet, ReasonRestored, "stamp Restored"},
		"names wait for the old path":    {scene(done+" B", 3, goBack, oldUnknown), GateSettled, Unknown, ReasonPathUnknown, ""},
		"names go back, intent first":    {scene(done+" B", 3, goBack), GateShifted, Unmet, ReasonStamping, "stamp Intent(0)"},
		"then the change":                {scene(done+" B I0", 3, goBack), GateShifted, Unmet, ReasonChangingNames, "change names to step 0"},
		"then the snapshot is intended":  {scene(done+" B I0 S0", 0, goBack), GateTTLLowered, Unmet, ReasonStamping, "stamp Intent(-1)"},
		"and written without a mark":     {scene(done+" B I0 S0 I-1", 0, goBack), GateTTLLowered, Unmet, ReasonChangingNames, "change names to step -1"},
		"the largest TTL passes":         {scene(done+" B I0 S0 I-1 S-1", -1, goBack, func(f *Facts) { f.Now = f.Record.Stamps[12].At.Add(time.Hour) }), GateProven, Waiting, ReasonTTLRunning, ""},
		"the new path becomes quiet":     {scene(done+" B I0 S0 I-1 S-1", -1, goBack, func(f *Facts) { f.NewUse.QuietSince = See(f.Now) }), GateProven, Waiting, ReasonInUse, ""},
		"survivors are excused":          {scene(done+" B I0 S0 I-1 S-1", -1, goBack, used), GateStaged, Unmet, ReasonRemoving, "remove the target"},
		"not behind a proxy that we end": {scene(done+" B I0 S0 I-1 S-1", -1, goBack, used, func(f *Facts) { f.NewUse.ProxyGoes = true }), GateProven, Waiting, ReasonInUse, ""},
		"then the objects go":            {scene(done+" B I0 S0 I-1 S-1", -1, goBack), GateStaged, Unmet, ReasonRemoving, "remove the target"},
		"then the claims":                {scene(done+" B I0 S0 I-1 S-1", -1, goBack, noTarget), GateClaimed, Unmet, ReasonUnclaiming, "give the claimed"},
		"then Undone is stamped":         {scene(done+" B I0 S0 I-1 S-1", -1, goBack, noTarget, func(f *Facts) { f.Claims = Claims{} }), GateUndone, Unmet, ReasonStamping, "stamp Undone"},
		"which is the end":               {scene(done+" B I0 S0 I-1 S-1 U", -1), GateUndone, Met, ReasonUndone, ""},
		"a pause holds back too":         {scene(done, 3, taken, goBack, paused), GateReleased, Held, ReasonPaused, ""},
		"a freeze, Report and drift do not": {
			scene(done, 3, taken, goBack, frozen, goal(v1alpha1.GoalReport), func(f *Facts) { f.Live = nil }), GateReleased, Unmet, ReasonRestoring, "put the field",
		},
		"a staged walk whose names never moved goes straight": {
			scene("R", -1, goBack, used), GateStaged, Unmet, ReasonRemoving, "remove the target",
		},
	})
}

func oldUnknown(f *Facts) { f.Old = Path{} }

func noTarget(f *Facts) { f.Target = Target{} }
