package migration

import (
	"testing"
	"time"

	"offramp.dev/api/v1alpha1"
)

func TestReleaseComesLast(t *testing.T) {
	t.Parallel()
	const shifted, released = "R I0 S0 I1 S1 I2 S2 I3 S3", "R I0 S0 I1 S1 I2 S2 I3 S3 L"
	busy := func(n int64, survives bool) func(*Facts) {
		return func(f *Facts) { f.OldUse.Established, f.OldUse.Survives = See(n), survives }
	}
	checkStands(t, map[string]stand{
		"unknown use is not quiet": {
			scene(shifted, 3, func(f *Facts) { f.OldUse.QuietSince = Unseen[time.Time]("node b is silent") }),
			GateDrained, Unknown, ReasonUseUnknown, "",
		},
		"unknown connections are not zero": {
			scene(shifted, 3, func(f *Facts) { f.OldUse.Established = Unseen[int64]("overflow") }),
			GateDrained, Unknown, ReasonUseUnknown, "",
		},
		"a new connection restarts the window": {
			scene(shifted, 3, func(f *Facts) { f.OldUse.QuietSince = See(f.Now.Add(-time.Minute)) }),
			GateDrained, Waiting, ReasonInUse, "",
		},
		"a connection that would be cut is waited for": {
			scene(shifted, 3, busy(1, false)),
			GateDrained, Waiting, ReasonInUse, "",
		},
		"one that survives is, past its declared life": {
			scene(shifted, 3, busy(1, true)),
			GateReleased, Unmet, ReasonReleasing, "remove the field",
		},
		"one that survives and may be young is waited for": {
			scene(shifted, 3, busy(1, true), func(f *Facts) { f.OldUse.QuietSince = See(f.Now.Add(-90 * time.Minute)) }),
			GateDrained, Waiting, ReasonInUse, "",
		},
		"a waiver shows what is left": {
			scene(shifted, 3, busy(5, false), waive(GateDrained)),
			GateReleased, Unmet, ReasonReleasing, "remove the field",
		},
		"CutOver stops before release": {
			scene(shifted, 3, goal(v1alpha1.GoalCutOver)), GateReleased, Held, ReasonGoalReached, "",
		},
		"the field goes": {
			scene(shifted, 3),
			GateReleased, Unmet, ReasonReleasing, "remove the field from Service shop/web",
		},
		"then that is stamped": {scene(shifted, 3, taken), GateReleased, Unmet, ReasonStamping, "stamp Released"},
		"then the path soaks": {
			scene(released, 3, taken, afterLast(time.Minute)),
			GateSoaked, Waiting, ReasonSoaking, "",
		},
		"a failing path is not left": {scene(released, 3, taken, failing), GateSoaked, Waiting, ReasonNotProven, ""},
		"then the TTL goes up":       {scene(released, 3, taken), GateTTLRestored, Unmet, ReasonStamping, "stamp Intent(4)"},
		"after release the old use is moot": {
			scene(released, 3, taken, busy(9, false)), GateTTLRestored, Unmet, ReasonStamping, "stamp Intent(4)",
		},
		"a lost target is repaired although the goal is Report": {
			scene(released, 3, taken, goal(v1alpha1.GoalReport), func(f *Facts) { f.Target.Exact = false }),
			GateStaged, Unmet, ReasonRepairing, "apply",
		},
		"a field that somebody else put back is stamped": {
			scene(released, 3, func(f *Facts) { f.Fields[0].Mark = 1 }),
			GateReleased, Unmet, ReasonReturned, "stamp Returned",
		},
		"and not taken again in the attempt": {
			scene(released+" G", 3, func(f *Facts) { f.Fields[0].Mark = 1 }), GateReleased, Held, ReasonFieldReturned, "",
		},
		"but in the next": {
			scene(released+" G R/2", 3, nextAttempt, func(f *Facts) { f.Fields[0].Mark = 1 }),
			GateReleased, Unmet, ReasonReleasing, "remove the field",
		},
		"a member that is gone holds": {
			scene(shifted, 3, func(f *Facts) { f.Fields[0].Missing, f.Fields[0].Present = true, false }),
			GateReleased, Held, ReasonServiceGone, "",
		},
		"forgetting waits for the old TTL": {
			scene(released+" I4 S4", 4, taken, afterLast(time.Minute)), GateForgotten, Waiting, ReasonTTLRunning, "",
		},
		"forgetting waits for silence": {
			scene(released+" I4 S4", 4, taken, func(f *Facts) { f.OldUse.QuietSince = See(f.Now) }),
			GateForgotten, Waiting, ReasonInUse, "",
		},
		"forgetting looks for another holder": {
			scene(released+" I4 S4", 4, taken, func(f *Facts) { f.Fields[0].Foreign = "Service other/web" }),
			GateForgotten, Held, ReasonConflict, "",
		},
		"everything holds: the snapshot goes": {
			scene(released+" I4 S4", 4, taken),
			GateForgotten, Unmet, ReasonForgetting, "drop the snapshot",
		},
		"forgotten is the end": {
			scene(released+" I4 S4 F", 4, taken, goBack),
			GateForgotten, Met, ReasonForgotten, "",
		},
	})
}

func failing(f *Facts) { f.New = Path{Healthy: See(false), Samples: 9, Failures: 9} }

func TestFailureIsALatch(t *testing.T) {
	t.Parallel()
	const half = "R I0 S0 I1 S1 I2 S2"
	checkStands(t, map[string]stand{
		"a failed path under live names aborts": {
			scene(half, 2, failing),
			GateProven, Unmet, ReasonPathFailed, "stamp Abort(2)",
		},
		"under Report, pause, freeze and drift too": {
			scene(half, 2, failing, paused, frozen, goal(v1alpha1.GoalReport), func(f *Facts) { f.Live = nil }),
			GateProven, Unmet, ReasonPathFailed, "stamp Abort(2)",
		},
		"an unknown path aborts nothing": {
			scene(half, 2, func(f *Facts) { f.New = Path{} }),
			GateProven, Unknown, ReasonPathUnknown, "",
		},
		"samples over the budget abort": {
			scene(half, 2, func(f *Facts) { f.New.Failures, f.New.Rounds = failureBudget, 0 }),
			GateProven, Unmet, ReasonPathFailed, "stamp Abort(2)",
		},
		"a failed path without live names only waits": {
			scene("R I0 S0", 0, failing),
			GateProven, Waiting, ReasonNotProven, "",
		},
		"the names go back": {
			scene(half+" A2", 2),
			GateShifted, Unmet, ReasonStamping, "stamp Intent(0)",
		},
		"not on a dead old path": {
			scene(half+" A2", 2, func(f *Facts) { f.Old.Healthy = See(false) }), GateSettled, Held, ReasonOldPathFailed, "",
		},
		"an old path that no probe can judge holds the way back": {
			scene(half+" A2", 2, func(f *Facts) { f.Old = Path{} }), GateSettled, Unknown, ReasonPathUnknown, "",
		},
		"unless a human asked it and waived Settled": {
			scene(half+" A2", 2, waive(GateSettled), func(f *Facts) { f.Old = Path{} }), GateShifted, Unmet, ReasonStamping, "stamp Intent(0)",
		},
		"a waiver of Settled does not hide an old path that fails": {
			scene(half+" A2", 2, waive(GateSettled), func(f *Facts) { f.Old.Healthy = See(false) }), GateSettled, Held, ReasonOldPathFailed, "",
		},
		"not if the policy says Hold":        {scene(half+" A2", 2, holdOnFailure), GateProven, Held, ReasonAborted, ""},
		"and stay, though all is well again": {scene(half+" A2 I0 S0", 0), GateProven, Held, ReasonAborted, ""},
		"until the next attempt": {
			scene(half+" A2 I0 S0 R/2", 0, nextAttempt),
			GateShifted, Unmet, "Step1Of3", "stamp Intent(1)",
		},
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
		"the field comes back first": {
			scene(done, 3, taken, goBack),
			GateReleased, Unmet, ReasonRestoring, "put the field of Service shop/web back",
		},
		"unless another holds the address": {
			scene(done, 3, taken, goBack, func(f *Facts) { f.Fields[0].Foreign = "Service other/web" }),
			GateReleased, Held, ReasonConflict, "",
		},
		"unless the API server refuses": {
			scene(done, 3, taken, goBack, func(f *Facts) { f.Fields[0].Refused = "denied by DenyServiceExternalIPs" }),
			GateReleased, Held, ReasonDenyEnabled, "",
		},
		"unless the Service is gone": {
			scene(done, 3, goBack, func(f *Facts) { f.Fields[0] = Field{Service: "shop/web", Missing: true} }),
			GateReleased, Held, ReasonServiceGone, "",
		},
		"what we did not take is not put back": {
			scene("R I0 S0 I3 S3", 3, goBack, func(f *Facts) { f.Fields[0].Present = false }),
			GateShifted, Unmet, ReasonStamping, "stamp Intent(0)",
		},
		"our own restoring is stamped": {scene(done, 3, goBack), GateReleased, Unmet, ReasonRestored, "stamp Restored"},
		"names wait for the old path": {
			scene(done+" B", 3, goBack, oldUnknown),
			GateSettled, Unknown, ReasonPathUnknown, "",
		},
		"names go back, intent first": {
			scene(done+" B", 3, goBack),
			GateShifted, Unmet, ReasonStamping, "stamp Intent(0)",
		},
		"then the change": {
			scene(done+" B I0", 3, goBack),
			GateShifted, Unmet, ReasonChangingNames, "change names to step 0",
		},
		"then the snapshot is intended": {
			scene(done+" B I0 S0", 0, goBack),
			GateTTLLowered, Unmet, ReasonStamping, "stamp Intent(-1)",
		},
		"and written without a mark": {
			scene(done+" B I0 S0 I-1", 0, goBack),
			GateTTLLowered, Unmet, ReasonChangingNames, "change names to step -1",
		},
		"the largest TTL passes": {
			scene(done+" B I0 S0 I-1 S-1", -1, goBack, func(f *Facts) { f.Now = f.Record.Stamps[12].At.Add(time.Hour) }),
			GateProven, Waiting, ReasonTTLRunning, "",
		},
		"the new path becomes quiet": {
			scene(done+" B I0 S0 I-1 S-1", -1, goBack, func(f *Facts) { f.NewUse.QuietSince = See(f.Now) }),
			GateProven, Waiting, ReasonInUse, "",
		},
		"on a port that others share nobody can tell whose connections are left": {
			scene(done+" B I0 S0 I-1 S-1", -1, goBack, shared, func(f *Facts) { f.NewUse.QuietSince = See(f.Now) }),
			GateProven, Unknown, ReasonUseShared, "",
		},
		"a human may know it": {
			scene(done+" B I0 S0 I-1 S-1", -1, goBack, shared, waive(GateDrained), func(f *Facts) { f.NewUse.QuietSince = See(f.Now) }),
			GateStaged, Unmet, ReasonRemoving, "remove the target",
		},
		"a port that is quiet is quiet for all who share it": {
			scene(done+" B I0 S0 I-1 S-1", -1, goBack, shared),
			GateStaged, Unmet, ReasonRemoving, "remove the target",
		},
		"survivors are excused": {
			scene(done+" B I0 S0 I-1 S-1", -1, goBack, used),
			GateStaged, Unmet, ReasonRemoving, "remove the target",
		},
		"not behind a proxy that we end": {
			scene(done+" B I0 S0 I-1 S-1", -1, goBack, used, func(f *Facts) { f.NewUse.ProxyGoes = true }),
			GateProven, Waiting, ReasonInUse, "",
		},
		"then the objects go": {
			scene(done+" B I0 S0 I-1 S-1", -1, goBack),
			GateStaged, Unmet, ReasonRemoving, "remove the target",
		},
		"then the claims": {
			scene(done+" B I0 S0 I-1 S-1", -1, goBack, noTarget),
			GateClaimed, Unmet, ReasonUnclaiming, "give the claimed",
		},
		"then Undone is stamped": {
			scene(done+" B I0 S0 I-1 S-1", -1, goBack, noTarget, func(f *Facts) { f.Claims = Claims{} }),
			GateUndone, Unmet, ReasonStamping, "stamp Undone",
		},
		"which is the end":       {scene(done+" B I0 S0 I-1 S-1 U", -1), GateUndone, Met, ReasonUndone, ""},
		"a pause holds back too": {scene(done, 3, taken, goBack, paused), GateReleased, Held, ReasonPaused, ""},
		"a freeze, Report and drift do not": {
			scene(done, 3, taken, goBack, frozen, goal(v1alpha1.GoalReport), func(f *Facts) { f.Live = nil }),
			GateReleased, Unmet, ReasonRestoring, "put the field",
		},
		"a staged walk whose names never moved goes straight": {
			scene("R", -1, goBack, used), GateStaged, Unmet, ReasonRemoving, "remove the target",
		},
	})
}

func oldUnknown(f *Facts) { f.Old = Path{} }

func shared(f *Facts) { f.NewUse.Shared = "EntryPoint shop-api-1 on TCP/80 of 192.0.2.9" }

func noTarget(f *Facts) { f.Target = Target{} }
