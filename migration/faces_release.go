package migration

import (
	"strings"
	"time"

	"offramp.dev/api/v1alpha1"
)

func drained(w *walk) outcome {
	switch {
	case w.keepsAddress():
		return notApplicable(ReasonAddressKept, "the address stays and no connection is cut")
	case w.rules.after(w):
		return moot("the field is gone")
	}
	return w.quiet(&w.OldUse, !w.OldUse.Survives)
}

// ours: our mark of this chain stands on the member, so we took its field away.
func ours(w *walk, f *Field) bool { return f.Mark > max(w.journal.returned, w.journal.undone) }

// gone: the field is gone from at least one member by our hand.
func gone(w *walk) bool { return w.journal.latched() || w.firstTaken() != nil }

// firstTaken is the first member whose field we took away.
func (w *walk) firstTaken() *Field {
	for i := range w.Fields {
		if f := &w.Fields[i]; !f.Present && w.rules.ours(w, f) {
			return f
		}
	}
	return nil
}

func (w *walk) firstPresent() *Field {
	for i := range w.Fields {
		if w.Fields[i].Present {
			return &w.Fields[i]
		}
	}
	return nil
}

// after: the latch Released. With several members it holds once none carries the field any more: while some do, Proven,
// Settled and Drained are asked again before the next one.
func after(w *walk) bool {
	return w.journal.latched() || w.firstTaken() != nil && w.firstPresent() == nil
}

func released(w *walk) outcome {
	if w.journal.returned >= w.attempt {
		return held(ReasonFieldReturned, "somebody else put the field back in this attempt")
	}
	return w.releaseNext()
}

func (w *walk) releaseNext() outcome {
	for i := range w.Fields {
		if f := &w.Fields[i]; f.Missing {
			return held(ReasonServiceGone, "Service "+f.Service+" is gone")
		}
	}
	if f := w.firstPresent(); f != nil {
		return act(Release{Service: f.Service, Attempt: w.attempt}, ReasonReleasing, "the field of "+f.Service+" goes")
	}
	if w.journal.latched() {
		return outcome{}
	}
	return w.stamp(v1alpha1.StampReleased, 0, ReasonStamping, "no member carries the field any more")
}

// restored puts back only what our mark proves that we took, after a look for another holder of the address.
func restored(w *walk) outcome {
	if f := w.firstTaken(); f != nil {
		return restore(f)
	}
	if !w.journal.latched() {
		return outcome{}
	}
	for i := range w.Fields {
		if f := &w.Fields[i]; f.Missing {
			return held(ReasonServiceGone, "Service "+f.Service+" is gone, so its field cannot be put back")
		}
	}
	return w.stamp(v1alpha1.StampRestored, 0, ReasonStamping, "the field is as it was")
}

func restore(f *Field) outcome {
	switch {
	case f.Foreign != "":
		return held(ReasonConflict, f.Foreign+" holds an address of Service "+f.Service)
	case f.Refused != "":
		return held(ReasonDenyEnabled, f.Refused)
	}
	return act(Restore{Service: f.Service}, ReasonRestoring, "the field of "+f.Service+" comes back")
}

func soaked(w *walk) outcome {
	if o := w.good(false); !o.passes() {
		return o
	}
	if end := w.journal.releasedAt.Add(seconds(w.settings.Soak)); w.Now.Before(end) {
		return until(end, ReasonSoaking, "the released state soaks")
	}
	return outcome{}
}

func ttlRestored(w *walk) outcome {
	if w.nameless() {
		return noNames()
	}
	return w.rules.triple(w, w.last+1)
}

// forgotten: the way back may go once five facts hold.
func forgotten(w *walk) outcome {
	for _, fact := range []func(*walk) outcome{oldSilent, addressFree, ttlOver, stillGood, unretained} {
		if o := fact(w); !o.passes() {
			return o
		}
	}
	return act(Forget{Attempt: w.attempt, Sequence: len(w.Record.Stamps)}, ReasonForgetting, "the snapshot goes")
}

// oldSilent: nobody knocks at the old address any more. An address that stays has no old traffic of its own.
func oldSilent(w *walk) outcome {
	if w.keepsAddress() {
		return outcome{}
	}
	q := w.OldUse.QuietSince
	if !q.Known {
		return unknown(ReasonUseUnknown, "who uses the old path is unknown: "+q.Why)
	}
	if end := q.Value.Add(seconds(w.settings.DrainWindow)); w.Now.Before(end) {
		return until(end, ReasonInUse, "the old address is still used")
	}
	return outcome{}
}

func addressFree(w *walk) outcome {
	for i := range w.Fields {
		if f := &w.Fields[i]; f.Foreign != "" {
			return held(ReasonConflict, f.Foreign+" holds an address of Service "+f.Service)
		}
	}
	return outcome{}
}

func ttlOver(w *walk) outcome {
	if w.nameless() {
		return outcome{}
	}
	seen := w.journal.sighting(w.last + 1)
	if seen.place == never {
		return waiting(ReasonTTLRunning, "the original TTL was not seen yet")
	}
	if end := seen.at.Add(w.oldTTL()); w.Now.Before(end) {
		return until(end, ReasonTTLRunning, "caches may still hold an older answer")
	}
	return outcome{}
}

func stillGood(w *walk) outcome { return w.good(false) }

// unretained: nobody asked to keep the way back for longer. The end of that time is no evidence: it forgets nothing by itself.
func unretained(w *walk) outcome {
	if w.Now.Before(w.RetainUntil) {
		return until(w.RetainUntil, ReasonRetained, "the snapshot is kept until "+w.RetainUntil.UTC().Format(time.RFC3339))
	}
	return outcome{}
}

func (w *walk) waives(g Gate) bool {
	_, ok := w.Intent.Waived[g]
	return ok
}

func (w *walk) waived(g Gate, instead ...string) outcome {
	message := "waived: " + w.Intent.Waived[g]
	if len(instead) > 0 {
		message += " (" + strings.Join(instead, "; ") + ")"
	}
	return outcome{verdict: Met, reason: ReasonWaived, message: message}
}
