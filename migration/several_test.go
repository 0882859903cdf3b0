package migration

import (
	"slices"
	"testing"
	"time"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
)

// secondName adds a name in the zone, on the same servers' answers as step k would give.
func secondName(name, zone string, k dnsctl.Step) func(*Facts) {
	return func(f *Facts) {
		f.Names = append(f.Names, sceneAnswers(sceneName(name, zone), k, f.Record.Stamps))
	}
}

func secondMember(m Field) func(*Facts) { return func(f *Facts) { f.Fields = append(f.Fields, m) } }

func TestSeveralNamesMoveTogether(t *testing.T) {
	t.Parallel()
	const lowered, half = "R I0 S0", "R I0 S0 I2"
	alias := func(f *Facts) { f.Names[1].Servers[0].Value.Records = dnsctl.RecordSet{Alias: "cdn.example.net"} }
	silent := func(f *Facts) { f.Names[1].Servers[1] = Unseen[dnsctl.Answer]("timeout") }
	checkStands(t, map[string]stand{
		"names of one zone go in one change": {
			scene(half, 0, secondName("api.example.org", "example", 0)), GateShifted, Unmet, "Step2Of3",
			"change names to step 2: www.example.org from A 192.0.2.1 (TTL 30) to A 192.0.2.1 203.0.113.1 (TTL 30); api.example.org",
		},
		"a name that is there already is left alone": {
			scene(half, 2, secondName("api.example.org", "example", 0)),
			GateShifted, Unmet, "Step2Of3", "change names to step 2: api.example.org",
		},
		"one zone after the other": {
			scene(half, 0, secondName("www.example.net", "net", 0)),
			GateShifted, Unmet, "Step2Of3", "change names to step 2: www.example.org",
		},
		"then the other zone": {
			scene(half, 2, secondName("www.example.net", "net", 0)),
			GateShifted, Unmet, "Step2Of3", "change names to step 2: www.example.net",
		},
		"seen means every server of every name": {
			scene(half, 2, secondName("api.example.org", "example", 2), silent),
			GateShifted, Unknown, ReasonNamesUnknown, "",
		},
		"one name that another owns stops the intent of all": {
			scene(lowered, 0, secondName("api.example.org", "example", 0), alias),
			GateTTLLowered, Unmet, ReasonDiverged, "stamp Diverged(0)",
		},
		"and the change of all until it is free": {
			scene("R I0", -1, secondName("api.example.org", "example", -1), alias),
			GateTTLLowered, Unmet, ReasonChangingNames, "change names to step 0: www.example.org",
		},
		"any name at the new address is enough to abort": {
			scene("R I0 S0 I2", 0, secondName("api.example.org", "example", 2), failing),
			GateProven, Unmet, ReasonPathFailed, "stamp Abort(2)",
		},
	})
}

func TestTheLargestTTLOfAllNamesCounts(t *testing.T) {
	t.Parallel()
	f := scene("R I0 S0", 0, secondName("api.example.org", "example", 0))
	f.Names[1].Name.Snapshot.A.TTL = 86400
	d := Decide(f)
	want := f.Record.Stamps[2].At.Add(24*time.Hour + rounding)
	if d.At.Gate != GateTTLLowered || !d.At.Again.Equal(want) {
		t.Errorf("waits at %s until %s, want TTLLowered until %s", d.At.Gate, d.At.Again, want)
	}
}

func TestSeveralMembersGoOneByOne(t *testing.T) {
	t.Parallel()
	const shifted, released = "R I0 S0 I1 S1 I2 S2 I3 S3", "R I0 S0 I1 S1 I2 S2 I3 S3 L"
	present, gone := Field{Service: "shop/api", Present: true}, Field{Service: "shop/api", Mark: 1}
	busy := func(f *Facts) { f.OldUse.Established = See(int64(1)) }
	checkStands(t, map[string]stand{
		"the first that carries the field is released": {
			scene(shifted, 3, taken, secondMember(present)),
			GateReleased, Unmet, ReasonReleasing, "remove the field from Service shop/api",
		},
		"in between the old path must still be drained": {
			scene(shifted, 3, taken, secondMember(present), busy), GateDrained, Waiting, ReasonInUse, "",
		},
		"in between a lost target is repaired": {
			scene(shifted, 3, taken, secondMember(present), paused, func(f *Facts) { f.Intent.Paused, f.Target.Exact = false, false }),
			GateStaged, Unmet, ReasonRepairing, "apply",
		},
		"all gone is stamped": {
			scene(shifted, 3, taken, secondMember(gone)), GateReleased, Unmet, ReasonStamping, "stamp Released",
		},
		"half a release goes back": {
			scene(shifted, 3, goBack, secondMember(gone)),
			GateReleased, Unmet, ReasonRestoring, "put the field of Service shop/api back",
		},
		"half a restore goes on": {
			scene(released, 3, goBack, secondMember(gone)),
			GateReleased, Unmet, ReasonRestoring, "put the field of Service shop/api back",
		},
		"all back is stamped": {
			scene(released, 3, goBack, secondMember(present)), GateReleased, Unmet, ReasonRestored, "stamp Restored",
		},
		"one that somebody else put back is stamped": {
			scene(released, 3, taken, secondMember(Field{Service: "shop/api", Present: true, Mark: 1})),
			GateReleased, Unmet, ReasonReturned, "stamp Returned",
		},
	})
}

func TestWithoutNamesNothingIsIntended(t *testing.T) {
	t.Parallel()
	adopt := strategy(v1alpha1.StrategyAdopt)
	busy := func(f *Facts) { f.NewUse.Established, f.OldUse.Established = See(int64(7)), See(int64(7)) }
	checkStands(t, map[string]stand{
		"adopting releases as soon as the path is proven": {
			scene("R", -1, adopt, noNamesMove, busy), GateReleased, Unmet, ReasonReleasing, "remove the field",
		},
		"an adopted address is forgotten though it is in use": {
			scene("R L", -1, adopt, noNamesMove, taken, func(f *Facts) { f.OldUse = Use{} }),
			GateForgotten, Unmet, ReasonForgetting, "drop the snapshot",
		},
		"an adopted one goes back under use": {
			scene("R", -1, adopt, noNamesMove, busy, goBack), GateStaged, Unmet, ReasonRemoving, "remove the target",
		},
		"a new address that no name tells of must drain before it goes": {
			scene("R", -1, noNamesMove, busy, goBack), GateProven, Waiting, ReasonInUse, "",
		},
		"the old one too": {scene("R", -1, noNamesMove, busy), GateDrained, Waiting, ReasonInUse, ""},
	})
	for _, r := range Decide(scene("R", -1, adopt, noNamesMove)).Rows {
		moved := slices.Contains([]Gate{GateTTLLowered, GateShifted, GateSettled, GateDrained, GateTTLRestored}, r.Gate)
		if moved && r.Verdict != NotApplicable {
			t.Errorf("%s is %s, want NotApplicable", r.Gate, r.Verdict)
		}
	}
}

func TestAnEndedWalkNeverActs(t *testing.T) {
	t.Parallel()
	worlds := map[string]func(*Facts){
		"as it was": func(*Facts) {}, "back": goBack, "failing": failing, "taken": taken, "no target": noTarget, "without names": noNamesMove,
		"the goal is Report": goal(v1alpha1.GoalReport), "the field came back": func(f *Facts) { f.Fields[0].Mark = 1 },
		"names changed": func(f *Facts) { f.Names[0].Servers[0].Value.Records.A.TTL = 1 }, "all unknown": blind,
	}
	for _, journal := range []string{"R U", "R I0 S0 I3 S3 L I4 S4 F", "R I2 S2 U"} {
		for name, edit := range worlds {
			for k := dnsctl.Step(-1); k <= 4; k++ {
				if d := Decide(scene(journal, k, edit)); d.Action != nil || !d.Ended || !d.Again.IsZero() {
					t.Errorf("%s: %s: step %d: does %v, ended %v, again %s", journal, name, k, d.Action, d.Ended, d.Again)
				}
			}
		}
	}
}

func blind(f *Facts) {
	f.Guarded, f.New, f.Old, f.OldUse, f.NewUse = Seen[bool]{}, Path{}, Path{}, Use{}, Use{}
	for i := range f.Names {
		for s := range f.Names[i].Servers {
			f.Names[i].Servers[s] = Seen[dnsctl.Answer]{}
		}
	}
}

func TestBlindnessTakesNoStepThatIsHardToTakeBack(t *testing.T) {
	t.Parallel()
	// A journal without a share is left out: names never moved, so going back needs no look at all.
	for _, journal := range []string{"R I0 S0 I1", "R I0 S0 I2", "R I0 S0 I3 S3", "R I0 S0 I3 S3 L", "R I0 S0 I3 S3 L I4 S4"} {
		for name, edit := range map[string]func(*Facts){"forward": func(*Facts) {}, "back": goBack} {
			d := Decide(scene(journal, 3, edit, blind, func(f *Facts) { f.Fields[0].Present = true }))
			switch d.Action.(type) {
			case Release, Remove, Forget, ChangeNames:
				t.Errorf("%s, %s: %s", journal, name, d.Action)
			default:
			}
		}
	}
}

func TestDrainedIsNotShownBeforeItsTurn(t *testing.T) {
	t.Parallel()
	for _, r := range Decide(scene("R I0 S0", 0)).Rows {
		if (r.Gate == GateDrained || r.Gate == GateSoaked || r.Gate == GateSettled) && r.Verdict != Later {
			t.Errorf("%s is %s while names still serve the old address", r.Gate, r.Verdict)
		}
	}
}

func TestAttemptNeverFallsBelowTheRecord(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		facts Facts
		want  int64
	}{
		"a missing attempt is the first":      {Facts{}, 1},
		"the human's counts":                  {Facts{Intent: Intent{Attempt: 3}}, 3},
		"a recreated entry point falls not":   {Facts{Intent: Intent{Attempt: 1}, Record: Record{Stamps: sceneStamps("R/4")}}, 4},
		"nor does one whose plan is recorded": {Facts{Record: Record{Plans: []AttemptPlan{{Attempt: 2}}}}, 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tt.facts.Attempt(); got != tt.want {
				t.Errorf("attempt %d, want %d", got, tt.want)
			}
		})
	}
}

func TestAgainSaysWhenToLookNext(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		facts Facts
		// after is the time from now; negative means never.
		after time.Duration
	}{
		"a report before anything is recorded asks nothing": {scene("", -1, unrecorded, goal(v1alpha1.GoalReport)), -1},
		"an action is followed at once":                     {scene("R", -1), 0},
		"a walk under way asks every probe interval":        {scene("R I0 S0", 0, afterLast(time.Minute)), 10 * time.Second},
		"slots are passed twice each":                       {scene("R I0 S0 I1 S1", 1, lowSlot), 5 * time.Second},
		"the end of a wait comes first": {
			scene("R I0 S0", 0, afterLast(time.Hour)), 2 * time.Second,
		},
		"a hold with names at the old address rests":    {scene("R", -1, unapproved), time.Hour},
		"a hold with names at the new address does not": {scene("R I0 S0 I2 S2", 2, paused), 10 * time.Second},
		"retention rests": {scene("R I0 S0 I3 S3 L I4 S4", 4, taken, goal(v1alpha1.GoalRelease)), time.Hour},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := Decide(tt.facts)
			if tt.after < 0 && !d.Again.IsZero() || tt.after >= 0 && !d.Again.Equal(tt.facts.Now.Add(tt.after)) {
				t.Errorf("again at %s, now is %s, want %s later\n%s", d.Again, tt.facts.Now, tt.after, d)
			}
		})
	}
}

func TestActionsPrintThemselves(t *testing.T) {
	t.Parallel()
	hash := "0123456789abcdef"
	tests := map[string]Action{
		"record plan 0123456789ab for attempt 2": RecordPlan{Attempt: 2, Hash: hash}, "claim the plan's addresses": Claim{},
		"give the claimed addresses back": Unclaim{}, "apply the objects of plan 0123456789ab": Apply{Hash: hash},
		"remove the target objects":                                     Remove{},
		"stamp Seen(-1) of attempt 2 at place 7":                        WriteStamp{Kind: v1alpha1.StampSeen, Step: -1, Attempt: 2, Sequence: 7},
		"remove the field from Service a/b in attempt 2":                Release{Service: "a/b", Attempt: 2},
		"put the field of Service a/b back":                             Restore{Service: "a/b"},
		"drop the snapshot and stamp Forgotten of attempt 2 at place 9": Forget{Attempt: 2, Sequence: 9},
		"change names to step 1: a.b from no record to CNAME c": ChangeNames{Step: 1, Changes: []dnsctl.Change{{
			Name: "a.b", After: dnsctl.Answer{Records: dnsctl.RecordSet{Alias: "c"}},
		}}},
	}
	for want, a := range tests {
		if got := a.String(); got != want {
			t.Errorf("%T prints %q, want %q", a, got, want)
		}
	}
}
