// Package migration is the core: one table of gates, walked forward and back. Facts go in, a row for each gate and at
// most one Action come out. It is pure; nothing stores "the current step": the journal of stamps is the only memory.
package migration

import (
	"time"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
)

// Seen is a look that may have failed. "Could not look" is never "absent", "zero" or "healthy".
type Seen[T any] struct {
	Value T
	Known bool
	// Why says why it is not known.
	Why string
}

// See wraps a look that succeeded.
func See[T any](v T) Seen[T] { return Seen[T]{Value: v, Known: true} }

// Unseen wraps a look that failed.
func Unseen[T any](why string) Seen[T] { return Seen[T]{Why: why} }

// Facts is everything that one decision rests on. Objects of the API are always known (a failed read is an error
// before Facts exist); looks at name servers, probes and agents may be unknown.
type Facts struct {
	Now time.Time
	// Intent is what the human wants.
	Intent Intent
	// Blockers are findings of severity Block, and Ask that nobody answered. They count before Recorded only.
	Blockers []v1alpha1.Finding
	// Guarded: claimed addresses are denied to everybody else, as the API server answers now.
	Guarded Seen[bool]
	// Record is the walk's memory; the zero value before Recorded. An ended record is still this walk's until the attempt grows.
	Record Record
	// Live is the plan that would be made now; nil while blockers or missing objects make none possible (Why in LiveProblem).
	Live        *Plan
	LiveProblem string
	// LiveReason is the code of a problem that has one of its own; empty otherwise.
	LiveReason string
	// Claims are the ledger's rows of the plan's addresses.
	Claims Claims
	// Target are the target objects against the frozen plan (Record's youngest).
	Target Target
	// Names, in the order of the plan.
	Names []NameFacts
	// Slots: there was no gap in our passes longer than a slot, so a slot's high set may stand.
	Slots bool
	// Fields, one for each member, in the order of the plan.
	Fields []Field
	// New and Old are the health of the two paths. Healthy unknown: not looked, or inconclusive.
	New, Old Path
	// OldUse and NewUse are who uses the two paths.
	OldUse, NewUse Use
	// Frozen is the reason of a freeze window that holds now, or "".
	Frozen string
	// RetainUntil is until when the snapshot must not be forgotten, whatever the evidence; zero: the evidence alone counts.
	RetainUntil time.Time
}

// Intent is the human's part of the EntryPoint, with autoAdvance already applied to Goal.
type Intent struct {
	Goal         v1alpha1.Goal
	Direction    v1alpha1.Direction
	Attempt      int64
	ApprovedPlan string
	Paused       bool
	// Waived gates pass without evidence (expired waivers are left out).
	Waived map[Gate]string
}

// Record is the walk's memory as stored.
type Record struct {
	Name     string
	Exists   bool
	Snapshot *Snapshot
	// Plans by attempt, in order.
	Plans []AttemptPlan
	// Stamps are the journal; a stamp's place is its sequence.
	Stamps []Stamp
	// Full: the journal has no room for a further attempt.
	Full bool
}

// AttemptPlan is the frozen plan of one attempt.
type AttemptPlan struct {
	Attempt int64
	Hash    string
	Plan    *Plan
}

// Stamp is one line of the journal.
type Stamp struct {
	Kind    v1alpha1.StampKind
	Step    dnsctl.Step
	Attempt int64
	At      time.Time
}

// Claims are the ledger's rows of the plan's addresses.
type Claims struct {
	// Complete: every row of the plan exists and is ours. Any: at least one row is ours.
	Complete, Any bool
	// Conflicts say who else holds one, or uses it now. Objects are named.
	Conflicts []string
}

// Target are the target objects against the frozen plan.
type Target struct {
	// Exact: all exist exactly as in the plan. Any: at least one of ours exists.
	Exact, Any bool
	// Difference is the first one, for humans.
	Difference string
}

// NameFacts is one name on all its servers; Servers[0] is the primary.
type NameFacts struct {
	Name    dnsctl.Name
	Servers []Seen[dnsctl.Answer]
	// Manual: we write nothing, a human does.
	Manual bool
	// At is how the zone is reached, for what a human is told.
	At dnsctl.Zone
	// Rotates: every server gives the addresses of a set in changing order. It is asked only where a share below 50 percent
	// needs it.
	Rotates Seen[bool]
}

// Field is the field of one member.
type Field struct {
	Service string
	// Missing: the Service is gone.
	Missing bool
	// Present: the old addresses stand in spec.externalIPs (any of them).
	Present bool
	// Mark is the attempt in our AnnotationReleased, 0 if there is none.
	Mark int64
	// Foreign names another holder of one of the addresses that Restore would write, or "".
	Foreign string
	// Refused says why the API server would refuse to put the field back (built-in deny plugin), or "".
	Refused string
}

// Path is the health of one path DNS -> address -> Service -> backend.
type Path struct {
	// Healthy: known good, known failed, or unknown.
	Healthy Seen[bool]
	// Samples taken, and failures among them, since the youngest Seen or Recorded stamp.
	Samples, Failures int
	// Rounds that were good in a row.
	Rounds int
	// Reason is a code of what is wrong with what serves the path (package gateway's Health); empty where probes fail.
	Reason string
	// Detail for humans.
	Detail string
}

// Use is who uses one path.
type Use struct {
	// QuietSince is the later of the last new connection and the begin of gapless coverage, on every node that counts.
	QuietSince Seen[time.Time]
	// Established connections.
	Established Seen[int64]
	// Survives: established connections outlive the removal of this path (proxy mode and attraction). ProxyGoes: the path
	// runs through a proxy that is removed with it.
	Survives, ProxyGoes bool
	// Shared says who else is served on the same address and port ("EntryPoint b on TCP/80 of 192.0.2.9"), or "": of two
	// behind one static Service nobody can tell by address and port whose a connection is.
	Shared string
}

// Attempt is the attempt that counts: at least 1, and never below what the record has seen, so that a lost and
// recreated EntryPoint does not fall back into an attempt that already failed or ended.
func (f Facts) Attempt() int64 {
	a := max(1, f.Intent.Attempt)
	for i := range f.Record.Plans {
		a = max(a, f.Record.Plans[i].Attempt)
	}
	for i := range f.Record.Stamps {
		a = max(a, f.Record.Stamps[i].Attempt)
	}
	return a
}
