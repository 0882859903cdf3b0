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
		"an unknown goal is Report": {
			scene("", -1, unrecorded, goal("Everything")),
			GateRecorded, Held, ReasonReportOnly, "",
		},
		"a blocker shows under Report too": {
			scene("", -1, unrecorded, blocked, goal(v1alpha1.GoalReport)), GateEligible, Held, "NodeAddress", "",
		},
		"a blocker holds before the plan is recorded": {
			scene("", -1, unrecorded, blocked),
			GateEligible, Held, "NodeAddress", "",
		},
		"a blocker that comes later holds nothing": {
			scene("R", -1, blocked),
			GateTTLLowered, Unmet, ReasonStamping, "stamp Intent(0)",
		},
		"no plan holds": {
			scene("", -1, unrecorded, func(f *Facts) { f.Live, f.LiveProblem = nil, "no pool" }),
			GateEligible, Held, ReasonNoPlan, "",
		},
		"an unknown guard is not a guard": {
			scene("", -1, unrecorded, func(f *Facts) { f.Guarded = Unseen[bool]("dry run failed") }),
			GateGuarded, Unknown, ReasonGuardUnknown, "",
		},
		"an open guard waits": {
			scene("R", -1, func(f *Facts) { f.Guarded = See(false) }), GateGuarded, Waiting, ReasonNotDenied, "",
		},
		"a waived guard passes": {
			scene("R", -1, waive(GateGuarded), func(f *Facts) { f.Guarded = See(false) }),
			GateTTLLowered, Unmet, ReasonStamping, "stamp Intent(0)",
		},
		"the plan is recorded first": {scene("", -1, unrecorded), GateRecorded, Unmet, ReasonRecording, "record plan"},
		"recording needs no approval": {
			scene("", -1, unrecorded, unapproved),
			GateRecorded, Unmet, ReasonRecording, "record plan",
		},
		"a freeze window holds forward": {scene("R", -1, frozen), GateTTLLowered, Held, ReasonFreezeWindow, ""},
		"a pause holds":                 {scene("R", -1, paused), GateTTLLowered, Held, ReasonPaused, ""},
		"claims come before objects": {
			scene("R", -1, func(f *Facts) { f.Claims, f.Target = Claims{}, Target{} }),
			GateClaimed, Unmet, ReasonClaiming, "claim",
		},
		"an address that another holds is not claimed": {
			scene("R", -1, func(f *Facts) { f.Claims = Claims{Conflicts: []string{"Service other/web"}} }),
			GateClaimed, Held, ReasonAddressTaken, "",
		},
		"the target is made as in the plan": {
			scene("R", -1, func(f *Facts) { f.Target = Target{Any: true, Difference: "ports"} }),
			GateStaged, Unmet, ReasonApplying, "apply the objects",
		},
		"an unknown path is not proven": {
			scene("R", -1, func(f *Facts) { f.New = Path{} }), GateProven, Unknown, ReasonPathUnknown, "",
		},
		"too few rounds do not prove": {
			scene("R", -1, func(f *Facts) { f.New.Rounds = 2 }), GateProven, Waiting, ReasonNotProven, "",
		},
		"a waiver stands in for missing probes": {
			scene("R", -1, waive(GateProven), func(f *Facts) { f.New = Path{} }),
			GateTTLLowered, Unmet, ReasonStamping, "stamp Intent(0)",
		},
		"a waiver does not hide a failing path": {
			scene("R", -1, waive(GateProven), func(f *Facts) { f.New = Path{Healthy: See(false)} }),
			GateProven, Waiting, ReasonNotProven, "",
		},
		"what the implementation did wrong has a code of its own": {
			scene("R", -1, func(f *Facts) { f.New = Path{Healthy: See(false), Reason: ReasonWritesExternalIPs} }),
			GateProven, Waiting, ReasonWritesExternalIPs, "",
		},
		"the goal Stage ends before names": {
			scene("R", -1, goal(v1alpha1.GoalStage)),
			GateTTLLowered, Held, ReasonGoalReached, "",
		},
		"past Stage the plan must be approved": {
			scene("R", -1, unapproved), GateTTLLowered, Held, ReasonNotApproved, "",
		},
		"a drifted plan holds": {
			scene("R", -1, func(f *Facts) { f.Live = scenePlan(v1alpha1.StrategyGateway) }),
			GateTTLLowered, Held, ReasonPlanDrifted, "",
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
		"after Undone a new attempt starts over": {
			scene("R U", -1, attempt(2)),
			GateRecorded, Unmet, ReasonRecording, "record plan",
		},
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
		"the intent is stamped before the change": {
			scene("R", -1),
			GateTTLLowered, Unmet, ReasonStamping, "stamp Intent(0)",
		},
		"the TTL is lowered": {
			scene("R I0", -1),
			GateTTLLowered, Unmet, ReasonChangingNames, "change names to step 0",
		},
		"a lagging server is waited for": {scene("R I0", 0, lag), GateTTLLowered, Waiting, ReasonServersLag, ""},
		"a silent server is not left out": {
			scene("R I0", 0, silent(1)),
			GateTTLLowered, Unknown, ReasonNamesUnknown, "",
		},
		"a silent primary is unknown": {
			scene("R I0", 0, silent(0)),
			GateTTLLowered, Unknown, ReasonNamesUnknown, "",
		},
		"a name without servers is unknown": {
			scene("R I0", 0, func(f *Facts) { f.Names[0].Servers = nil }), GateTTLLowered, Unknown, ReasonNamesUnknown, "",
		},
		"seen everywhere is stamped": {scene("R I0", 0), GateTTLLowered, Unmet, ReasonStamping, "stamp Seen(0)"},
		"the old TTL passes after it is seen": {
			scene("R I0 S0", 0, afterLast(time.Hour)),
			GateTTLLowered, Waiting, ReasonTTLRunning, "",
		},
		"the first share is intended": {scene("R I0 S0", 0), GateShifted, Unmet, "Step1Of3", "stamp Intent(1)"},
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
		"no slots are begun on servers with a fixed order": {
			scene("R I0 S0", 0, rotates(Seen[bool]{Known: true, Why: "ns1 always gives one order"})), GateShifted, Held, ReasonOrderFixed, "",
		},
		"no slots are begun while the order is unknown": {
			scene("R I0 S0", 0, rotates(Unseen[bool]("nothing to look at"))), GateShifted, Unknown, ReasonOrderUnknown, "",
		},
		"half and half needs no order": {
			scene("R I0 S0 I1 S1", 1, rotates(Seen[bool]{}), ordered(50, 100)), GateShifted, Unmet, "Step2Of2", "stamp Intent(2)",
		},
		"a server that stops rotating in a slot gets the safe set": {
			scene("R I0 S0 I1 S1", 1, highSlot, rotates(Seen[bool]{Known: true})), GateShifted, Unmet, "Step1Of3", "change names to step 1",
		},
		"and the walk holds on it": {
			scene("R I0 S0 I1 S1", 1, rotates(Seen[bool]{Known: true})), GateShifted, Held, ReasonOrderFixed, "",
		},
		"a share soaks": {scene("R I0 S0 I2 S2", 2, afterLast(time.Minute)), GateShifted, Waiting, "Step2Of3", ""},
		"no sample, no share": {
			scene("R I0 S0 I2 S2", 2, func(f *Facts) { f.New.Samples = 0 }),
			GateShifted, Waiting, "Step2Of3", "",
		},
		"one failure in fifty is too many": {
			scene("R I0 S0 I2 S2", 2, func(f *Facts) { f.New.Failures = 2 }), GateShifted, Waiting, "Step2Of3", "",
		},
		"one failure in a hundred is within the budget": {
			scene("R I0 S0 I2 S2", 2, func(f *Facts) { f.New.Failures = 1 }),
			GateShifted, Unmet, "Step3Of3", "stamp Intent(3)",
		},
		"the low TTL passes after the last share": {
			scene("R I0 S0 I3 S3", 3, afterLast(10*time.Second), soakedAtOnce), GateSettled, Waiting, ReasonTTLRunning, "",
		},
		"pausing in a high slot writes the safe set": {
			scene("R I0 S0 I1", 1, paused, highSlot), GateShifted, Unmet, ReasonSafeSet, "change names to step 1",
		},
		"the safe set is not written on a dead old path": {
			scene("R I0 S0 I1", 1, paused, highSlot, func(f *Facts) { f.Old.Healthy = See(false) }),
			GateShifted, Held, ReasonPaused, "",
		},
	})
}

func rotates(r Seen[bool]) func(*Facts) { return func(f *Facts) { f.Names[0].Rotates = r } }

// ordered walks these shares, and has since it was approved.
func ordered(percents ...int32) func(*Facts) {
	return func(f *Facts) {
		p := scenePlan(v1alpha1.StrategyLoadBalancer)
		p.Settings.Percents = percents
		f.Live, f.Intent.ApprovedPlan = p, HashPlan(p)
		f.Record.Plans = []AttemptPlan{{Attempt: 1, Hash: HashPlan(p), Plan: p}}
		for i := range f.Names[0].Servers {
			f.Names[0].Servers[i].Value.Records = f.Names[0].Name.Allowed(1, percents)[0]
		}
	}
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
