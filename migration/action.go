package migration

import (
	"fmt"
	"strings"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
)

// Action is the one change that a pass makes. It is a closed set; each prints itself and is idempotent.
//
//sumtype:decl
type Action interface {
	fmt.Stringer
	isAction()
}

// RecordPlan stores the plan of an attempt, and with the first one the snapshot, and stamps Recorded.
type RecordPlan struct {
	Attempt int64
	Hash    string
}

// Claim creates the plan's missing rows of the ledger.
type Claim struct{}

// Unclaim deletes our rows of the ledger.
type Unclaim struct{}

// Apply creates or repairs the target objects of the frozen plan.
type Apply struct{ Hash string }

// Remove deletes the target objects.
type Remove struct{}

// WriteStamp appends one line to the journal. Sequence is the number of lines it was decided on: another number is a conflict.
type WriteStamp struct {
	Kind     v1alpha1.StampKind
	Step     dnsctl.Step
	Attempt  int64
	Sequence int
}

// ChangeNames replaces record sets of one zone; each change names the state it expects.
type ChangeNames struct {
	Step    dnsctl.Step
	Changes []dnsctl.Change
}

// Release removes the field from one Service, with our mark in the same patch.
type Release struct {
	Service string
	Attempt int64
}

// Restore puts the field of one Service back as in the snapshot, and removes our mark.
type Restore struct{ Service string }

// Forget drops the snapshot and stamps Forgotten.
type Forget struct {
	Attempt  int64
	Sequence int
}

func (RecordPlan) isAction()  {}
func (Claim) isAction()       {}
func (Unclaim) isAction()     {}
func (Apply) isAction()       {}
func (Remove) isAction()      {}
func (WriteStamp) isAction()  {}
func (ChangeNames) isAction() {}
func (Release) isAction()     {}
func (Restore) isAction()     {}
func (Forget) isAction()      {}

// String says what is recorded.
func (a RecordPlan) String() string {
	return fmt.Sprintf("record plan %s for attempt %d", short(a.Hash), a.Attempt)
}

// String says what is claimed.
func (Claim) String() string { return "claim the plan's addresses" }

// String says what is given back.
func (Unclaim) String() string { return "give the claimed addresses back" }

// String says what is applied.
func (a Apply) String() string { return "apply the objects of plan " + short(a.Hash) }

// String says what goes.
func (Remove) String() string { return "remove the target objects" }

// String is the line that is appended.
func (a WriteStamp) String() string {
	return fmt.Sprintf("stamp %s(%d) of attempt %d at place %d", a.Kind, a.Step, a.Attempt, a.Sequence)
}

// String lists every name with what it holds before and after.
func (a ChangeNames) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "change names to step %d:", a.Step)
	for _, c := range a.Changes {
		fmt.Fprintf(&b, " %s from %s to %s;", c.Name, c.Before.Records, c.After.Records)
	}
	return strings.TrimSuffix(b.String(), ";")
}

// String names the Service.
func (a Release) String() string {
	return fmt.Sprintf("remove the field from Service %s in attempt %d", a.Service, a.Attempt)
}

// String names the Service.
func (a Restore) String() string { return "put the field of Service " + a.Service + " back" }

// String says what is dropped.
func (a Forget) String() string {
	return fmt.Sprintf("drop the snapshot and stamp Forgotten of attempt %d at place %d", a.Attempt, a.Sequence)
}

// short is enough of a hash for a human.
func short(hash string) string { return hash[:min(len(hash), 12)] }
