package migration

import "time"

// Verdict of one gate.
type Verdict string

// The verdicts. Met lets the walk pass; Unmet has an action; Waiting is met by time or by the world; Unknown could not be
// looked at; Held needs a human; Moot is overtaken by a later latch; NotApplicable never mattered here; Later was not reached.
const (
	Met           Verdict = "Met"
	Unmet         Verdict = "Unmet"
	Waiting       Verdict = "Waiting"
	Unknown       Verdict = "Unknown"
	Held          Verdict = "Held"
	Moot          Verdict = "Moot"
	NotApplicable Verdict = "NotApplicable"
	Later         Verdict = "Later"
)

// Gate is the name of a row; a past participle.
type Gate string

// The gates in their order. The shares are one gate to the outside, with the step in the reason.
const (
	GateUndone      Gate = "Undone"
	GateEligible    Gate = "Eligible"
	GateGuarded     Gate = "Guarded"
	GateRecorded    Gate = "Recorded"
	GateClaimed     Gate = "Claimed"
	GateStaged      Gate = "Staged"
	GateProven      Gate = "Proven"
	GateTTLLowered  Gate = "TTLLowered"
	GateShifted     Gate = "Shifted"
	GateSettled     Gate = "Settled"
	GateDrained     Gate = "Drained"
	GateReleased    Gate = "Released"
	GateSoaked      Gate = "Soaked"
	GateTTLRestored Gate = "TTLRestored"
	GateForgotten   Gate = "Forgotten"
)

// Row is what one gate says in the direction that is walked.
type Row struct {
	Gate    Gate
	Verdict Verdict
	// Reason is a stable code in CamelCase (docs/conditions.md), Message one sentence.
	Reason, Message string
	// Again is when the row may change by time alone; zero if it does not.
	Again time.Time
}

// Decision is the answer of one pass. It prints itself.
type Decision struct {
	// Rows, one for each gate, in table order.
	Rows []Row
	// At is the row where the walk stands (the first that is not met), Action what is done about it, if anything.
	At     Row
	Action Action
	// Ended: the walk is undone or forgotten and nothing will ever be done again in this attempt.
	Ended bool
	// Aborted: the current attempt has an Abort stamp.
	Aborted bool
	// Step that names are in (youngest intent), for display.
	Step int
	// Again is when to look again at the latest; zero when only a change of objects matters.
	Again time.Time
}
