package observe

import (
	"fmt"
	"strconv"
	"strings"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
	"offramp.dev/migration"
)

// journalCap is the length of a journal (the CRD's maxItems); journalReserve is what one attempt may need to end: a full
// shift and the way back.
const (
	journalCap     = 64
	journalReserve = 24
)

// RecordName is the name of the n-th record of an entry point.
func RecordName(entryPoint string, n int) string { return fmt.Sprintf("%s-%d", entryPoint, n) }

// RecordNumber is the inverse of RecordName.
func RecordNumber(entryPoint, name string) (int, bool) {
	text, ok := strings.CutPrefix(name, entryPoint+"-")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n > 0
}

// DecodeRecord reads a stored record; nil is the zero Record. A document that does not match its hash is an error:
// nothing may be decided on a memory that cannot be trusted.
func DecodeRecord(r *v1alpha1.MigrationRecord) (migration.Record, error) {
	if r == nil {
		return migration.Record{}, nil
	}
	out := migration.Record{Name: r.Name, Exists: true, Full: len(r.Spec.Journal) > journalCap-journalReserve}
	if r.Spec.Snapshot != nil {
		out.Snapshot = &migration.Snapshot{}
		if err := migration.DecodeDocument(*r.Spec.Snapshot, out.Snapshot); err != nil {
			return out, fmt.Errorf("MigrationRecord %s spec.snapshot: %w", r.Name, err)
		}
	}
	for i, p := range r.Spec.Plans {
		plan := &migration.Plan{}
		if err := migration.DecodeDocument(p.Plan, plan); err != nil {
			return out, fmt.Errorf("MigrationRecord %s spec.plans[%d]: %w", r.Name, i, err)
		}
		out.Plans = append(out.Plans, migration.AttemptPlan{Attempt: p.Attempt, Hash: p.Plan.SHA256, Plan: plan})
	}
	for _, s := range r.Spec.Journal {
		out.Stamps = append(out.Stamps, migration.Stamp{Kind: s.Kind, Step: dnsctl.Step(s.Step), Attempt: s.Attempt, At: s.At.Time})
	}
	return out, nil
}

// Undone tells whether the youngest line of the journal says that the walk was undone.
func Undone(r *v1alpha1.MigrationRecord) bool {
	n := len(r.Spec.Journal)
	return n > 0 && r.Spec.Journal[n-1].Kind == v1alpha1.StampUndone
}

// attemptOf is the attempt that an entry point asks for. One that was created after the walk of its name was undone is a new
// try by that alone: everything is as it was, and whoever opted in anew meant to begin anew. It begins at Report like any other.
func attemptOf(ep *v1alpha1.EntryPoint, r *v1alpha1.MigrationRecord) int64 {
	if r == nil || !Undone(r) {
		return ep.Spec.Attempt
	}
	last := r.Spec.Journal[len(r.Spec.Journal)-1]
	if ep.CreationTimestamp.After(last.At.Time) {
		return max(ep.Spec.Attempt, last.Attempt+1)
	}
	return ep.Spec.Attempt
}

// Ended tells whether the walk of the record is over: undone or forgotten.
func Ended(r *v1alpha1.MigrationRecord) bool {
	n := len(r.Spec.Journal)
	return n > 0 && (r.Spec.Journal[n-1].Kind == v1alpha1.StampUndone || r.Spec.Journal[n-1].Kind == v1alpha1.StampForgotten)
}
