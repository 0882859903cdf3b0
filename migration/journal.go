package migration

import (
	"time"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
)

// never is the sequence of a stamp that was not written.
const never = -1

// journal is what the stamps say. They are one chain over all attempts since the last Undone; only Abort and Returned
// belong to one attempt. A stamp counts by its age (its place in the chain), not by its presence: a Seen that is older
// than an intent says nothing any more.
type journal struct {
	// any: at least one stamp stands in the chain.
	any bool
	// The youngest intent; intended is false where there is none.
	intended bool
	step     dnsctl.Step
	intent   int
	intentAt time.Time
	// up is the youngest stamp from which on names may serve a new address, lowered the youngest intent of step 0.
	up, lowered int
	// seen is the youngest Seen of every step, from step -1 on.
	seen []sighting
	// low is since when no server answers the old TTL any more; zero where one may.
	low time.Time
	// The youngest Diverged.
	diverged        int
	divergedAt      time.Time
	divergedAttempt int64
	// released and restored are the youngest of their kind; who is younger counts.
	released, restored int
	releasedAt         time.Time
	// returned is the last attempt in which somebody else put the field back, undone the last attempt that was undone.
	returned, undone int64
	// aborted: the attempt that counts has an Abort.
	aborted   bool
	forgotten bool
}

// sighting is a Seen stamp; at is zero where there is none.
type sighting struct {
	place int
	at    time.Time
}

// readJournal folds the stamps for the attempt that counts.
func readJournal(stamps []Stamp, attempt int64) journal {
	j := emptyJournal(0)
	for i := range stamps {
		s := &stamps[i]
		if s.Kind == v1alpha1.StampUndone {
			j = emptyJournal(s.Attempt)
			continue
		}
		j.any = true
		j.add(s, i, attempt)
	}
	return j
}

func emptyJournal(undone int64) journal {
	return journal{intent: never, up: never, lowered: never, diverged: never, released: never, restored: never, undone: undone}
}

func (j *journal) add(s *Stamp, place int, attempt int64) {
	switch s.Kind {
	case v1alpha1.StampIntent:
		j.addIntent(s, place)
	case v1alpha1.StampSeen:
		j.addSeen(s, place)
	case v1alpha1.StampDiverged:
		// Somebody else wrote: the old TTL may be out again.
		j.diverged, j.divergedAt, j.divergedAttempt, j.low = place, s.At, s.Attempt, time.Time{}
	case v1alpha1.StampReleased:
		j.released, j.releasedAt = place, s.At
	case v1alpha1.StampRestored:
		j.restored = place
	case v1alpha1.StampReturned:
		j.restored, j.returned = place, s.Attempt
	case v1alpha1.StampAbort:
		j.aborted = j.aborted || s.Attempt == attempt
	case v1alpha1.StampForgotten:
		j.forgotten = true
	case v1alpha1.StampRecorded, v1alpha1.StampUndone:
	}
}

func (j *journal) addIntent(s *Stamp, place int) {
	j.intended, j.step, j.intent, j.intentAt = true, s.Step, place, s.At
	switch {
	case s.Step >= 1:
		j.up = place
	case s.Step == dnsctl.StepLowTTL:
		j.lowered = place
	default:
		j.low = time.Time{}
	}
}

func (j *journal) addSeen(s *Stamp, place int) {
	i := int(s.Step) + 1
	if i < 0 || i > maxSteps {
		return
	}
	for len(j.seen) <= i {
		j.seen = append(j.seen, sighting{place: never})
	}
	j.seen[i] = sighting{place: place, at: s.At}
	if s.Step >= 1 {
		j.up = place
	}
	if s.Step == dnsctl.StepLowTTL && j.low.IsZero() {
		j.low = s.At
	}
}

// maxSteps bounds the memory that a damaged journal can ask for; a shift has at most 100 different percents.
const maxSteps = 110

// sighting of step k; at is zero where it was never seen.
func (j *journal) sighting(k dnsctl.Step) sighting {
	if i := int(k) + 1; i >= 0 && i < len(j.seen) {
		return j.seen[i]
	}
	return sighting{place: never}
}

// ok tells whether step k was seen, after the youngest intent and after every Diverged.
func (j *journal) ok(k dnsctl.Step) bool {
	s := j.sighting(k)
	return s.place != never && s.place > max(j.intent, j.diverged)
}

// reverted: somebody else wrote after our youngest intent.
func (j *journal) reverted() bool { return j.diverged > j.intent }

// latched: the field is gone from every member, and not put back since.
func (j *journal) latched() bool { return j.released > j.restored }
