package migration

import (
	"fmt"

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

// Record stores the plan of an attempt, and with the first one the snapshot, and stamps Recorded.
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
