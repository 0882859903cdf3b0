package migration

import "offramp.dev/api/v1alpha1"

// gate is one row of the table. Its two faces say when it is done, walking forward, and when it is undone, walking back.
type gate struct {
	GateDoc

	goal         v1alpha1.Goal
	done, undone func(*walk) outcome
	// inTurn: its evidence means nothing before the rows above hold. A quiet old path while names still serve it is not
	// drained, and nobody who waits for that condition may believe so.
	inTurn bool
}

// GateDoc is the row in words; docs/gates.md is made of it.
type GateDoc struct {
	Name Gate
	// Goal from which on the row is walked.
	Goal v1alpha1.Goal
	// Done says when the gate is met going forward, Forward what is done for it; Undone and Back the same going back.
	Done, Forward, Undone, Back string
	// Waivable: a signed waiver may stand in for the evidence.
	Waivable bool
}

// Gates lists the rows in table order.
func Gates() []GateDoc {
	table := gates()
	docs := make([]GateDoc, len(table))
	for i := range table {
		docs[i] = table[i].GateDoc
		docs[i].Goal = table[i].goal
	}
	return docs
}

// gates is the table. Forward reads down, back reads up. The shares are one row: Intended, Changed, Seen and the soak of
// every step, one after the other.
func gates() []gate {
	return append(stageGates(), shiftGates()...)
}

func stageGates() []gate {
	return []gate{
		{GateDoc{
			Name: GateUndone, Undone: "every row below is undone, and that is stamped", Back: "WriteStamp",
		}, v1alpha1.GoalReport, notOnThisWay, undoneStamped, false},
		{GateDoc{
			Name: GateEligible, Done: "no finding blocks or asks and a plan can be made; moot once a plan is recorded", Waivable: true,
		}, v1alpha1.GoalStage, eligible, notOnThisWay, false},
		{GateDoc{
			Name: GateGuarded, Done: "everybody else is denied the claimed addresses", Waivable: true,
			Undone: "always: going back never lifts the guard",
		}, v1alpha1.GoalStage, guarded, notOnThisWay, false},
		{GateDoc{
			Name: GateRecorded, Done: "snapshot and the plan of this attempt are stored", Forward: "RecordPlan",
			Undone: "always: the record is kept",
		}, v1alpha1.GoalStage, recorded, notOnThisWay, false},
		{GateDoc{
			Name: GateClaimed, Done: "every address of the plan is claimed by us", Forward: "Claim",
			Undone: "no claim is ours", Back: "Unclaim",
		}, v1alpha1.GoalStage, claimed, unclaimed, false},
		{GateDoc{
			Name: GateStaged, Done: "the target objects are exactly as in the plan", Forward: "Apply",
			Undone: "no target object of ours exists", Back: "Remove",
		}, v1alpha1.GoalStage, staged, unstaged, false},
		{GateDoc{
			Name: GateProven, Done: "the new path was good for the asked number of rounds; moot after release", Waivable: true,
			Undone: "nobody needs the new path: names never moved, or were seen back, the largest TTL is over and the path is quiet",
		}, v1alpha1.GoalStage, proven, unneeded, false},
	}
}

func shiftGates() []gate {
	return []gate{
		{GateDoc{
			Name: GateTTLLowered, Done: "every server answers the low TTL and the largest old TTL has passed since; moot once a share is intended",
			Forward: "WriteStamp, ChangeNames, WriteStamp",
			Undone:  "every server answers the snapshot", Back: "WriteStamp, ChangeNames, WriteStamp",
		}, v1alpha1.GoalCutOver, lowered, raised, false},
		{GateDoc{
			Name: GateShifted, Done: "every share step was intended, changed, seen at every server, and soaked within the error budget",
			Forward: "WriteStamp, ChangeNames, WriteStamp",
			Undone:  "every server answers the old set again", Back: "WriteStamp, ChangeNames, WriteStamp",
		}, v1alpha1.GoalCutOver, shifted, shiftedBack, false},
		{GateDoc{
			Name: GateSettled, Done: "the low TTL has passed since the last share was seen; moot after release", Waivable: true,
			Undone: "the old path answers, where names still serve the new address",
		}, v1alpha1.GoalCutOver, settled, oldPath, true},
		{GateDoc{
			Name: GateDrained, Done: "no new connection to the old address for the window, and none left that removal would cut; moot after release",
			Waivable: true,
		}, v1alpha1.GoalCutOver, drained, notOnThisWay, true},
		{GateDoc{
			Name: GateReleased, Done: "no member carries the field, and that is stamped", Forward: "Release, WriteStamp",
			Undone: "what we removed is back as in the snapshot", Back: "Restore, WriteStamp",
		}, v1alpha1.GoalRelease, released, restored, false},
		{GateDoc{
			Name: GateSoaked, Done: "the new path was good for the soak time after release",
		}, v1alpha1.GoalRelease, soaked, notOnThisWay, true},
		{GateDoc{
			Name: GateTTLRestored, Done: "every server answers the new set at the original TTL",
			Forward: "WriteStamp, ChangeNames, WriteStamp",
		}, v1alpha1.GoalRelease, ttlRestored, notOnThisWay, false},
		{GateDoc{
			Name: GateForgotten, Forward: "Forget",
			Done: "the old address is silent, nobody else holds it, the TTLs are over, the new path is good and the retention has ended",
		}, v1alpha1.GoalForget, forgotten, notOnThisWay, false},
	}
}
