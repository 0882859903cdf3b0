package migration

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
)

// control is one pass of the controller: look, decide, look again uncached, act once.
func (w *world) control() outcome {
	if w.t-w.lastPass > slotTime {
		w.safeUntil = w.t + slotTime // a gap: first the safe set
	}
	w.lastPass = w.t
	f := w.observe(true)
	k := w.rules.walk(f)
	row := w.rules.decide(k)
	o := row
	w.show(f, &row)
	for again := 0; o.action != nil && (again == 0 || again < 4 && w.m.world == actsTwice); again++ {
		if again == 0 && w.rereads(o.action) {
			f = w.observe(false)
			k = w.rules.walk(f)
			if o = w.rules.decide(k); !reflect.DeepEqual(o.action, row.action) {
				break
			}
		}
		if !w.perform(k, o.action) {
			break
		}
		if w.m.world == actsTwice {
			w.pretend(f, o.action)
			k = w.rules.walk(f)
			o = w.rules.decide(k)
			row = o
		}
	}
	return row
}

// show looks every now and then whether what humans are shown is what is decided.
func (w *world) show(f *Facts, o *outcome) {
	if w.t%16 != 0 {
		return
	}
	d := w.rules.answer(f)
	w.fail(shown, !reflect.DeepEqual(d.Action, o.action) || d.At.Gate != o.gate || len(d.Rows) != len(w.rules.table))
}

func (w *world) rereads(a Action) bool {
	switch a.(type) {
	case Release, Restore, Remove, Forget:
		return w.m.world != neverRereads
	default:
	}
	return w.m.world != neverRereads && w.m.world != rereadsFour
}

// perform does an action, loses it, leaves it on its way, or does it twice.
func (w *world) perform(k *walk, a Action) bool {
	w.fail(afterEnd, w.over(k.attempt))
	if _, names := a.(ChangeNames); !names || k.journal.step != slotStep {
		w.acts++ // flips of a slot are not counted
	}
	done := deed{stamps: len(k.Record.Stamps), attempt: k.attempt, back: k.Intent.Direction == v1alpha1.DirectionBack, action: a}
	if w.noisy && w.p(.2*w.mild) {
		return false
	}
	if w.noisy && w.p(.06*w.mild) { // on its way when the controller dies: a new leader waits that long
		w.inflight = &late{at: w.t + 1 + w.rng.IntN(lateTime), deed: done}
		w.down = lateTime + 1
		if w.m.world == leadsAtOnce {
			w.down = 0
		}
		return false
	}
	w.act(done)
	if w.noisy && w.p(.2) {
		w.act(done)
	}
	return true
}

// pretend lets the facts know of our own change only.
func (w *world) pretend(f *Facts, a Action) {
	seen := *f
	o := w.objectsNow()
	o.guard, o.taken = seen.Guarded.Value, len(seen.Claims.Conflicts) > 0
	w.observeObjects(f, &o)
	f.New, f.Old, f.NewUse, f.OldUse = seen.New, seen.Old, seen.NewUse, seen.OldUse
	if c, ok := a.(ChangeNames); ok {
		for i := range w.servers {
			w.servers[i] = See(c.Changes[0].After)
		}
	}
}

func (w *world) act(d deed) {
	isLate := w.down > 0
	switch a := d.action.(type) {
	case WriteStamp:
		w.stamp(a, d.stamps, isLate)
	case RecordPlan:
		w.record(a, d.stamps)
	case ChangeNames:
		w.changeNames(a, d, isLate)
	case Claim:
		w.claim = !w.taken
	case Unclaim:
		w.claim = false
	case Apply:
		w.apply(a)
	case Remove:
		w.excuseNew = !w.newPath()
		w.staged, w.programed = 0, false
		w.cut('N', !w.survives || w.proxy)
	case Release:
		w.fail(many, a.Attempt == w.putBackIn) // an edit that was reverted once is not repeated
		w.field, w.relmark = false, a.Attempt
		w.cut('O', !w.survives)
	case Restore:
		w.fail(readd, w.foreign || w.tenant)
		w.field, w.relmark = true, 0
		w.guard = w.guard && w.m.world != liftsGuard
	case Forget:
		w.append(v1alpha1.StampForgotten, 0, d.attempt)
		w.snap = nil
	}
}

// loose: the journal is appended without looking at its length.
func (w *world) loose() bool { return w.m.world == losesJournal || w.m.world == recordsAgain }

func (w *world) stamp(a WriteStamp, seen int, isLate bool) {
	if seen != len(w.stamps) && !w.loose() {
		return // append by sequence: a conflict
	}
	switch a.Kind {
	case v1alpha1.StampIntent:
		w.fail(reshift, a.Step >= 1 && w.aborted[a.Attempt])
	case v1alpha1.StampAbort:
		w.fail(reshift, !isLate && !w.trueFail && w.failures == 0 && w.newPath())
		w.aborted[a.Attempt] = true
	case v1alpha1.StampSeen:
		w.fail(blindly, !isLate && !w.everywhere(a.Step))
		w.samples, w.failures = 0, 0
	case v1alpha1.StampUndone:
		w.fail(inexact, !w.asBefore())
		w.snap = nil
	case v1alpha1.StampRecorded, v1alpha1.StampDiverged, v1alpha1.StampReleased, v1alpha1.StampRestored, v1alpha1.StampReturned,
		v1alpha1.StampForgotten: // these change nothing that the world keeps
	}
	w.append(a.Kind, a.Step, a.Attempt)
}

// everywhere: every server, seen or not, answers the step.
func (w *world) everywhere(k dnsctl.Step) bool {
	for _, at := range w.at {
		r := w.zone[at].answer.Records
		if !slices.ContainsFunc(w.x.name.Allowed(k, []int32{25, 50, 100}), r.Equal) {
			return false
		}
	}
	return true
}

func (w *world) asBefore() bool {
	z := w.zoneNow()
	exact := z.answer.Mark.Owner == "" && z.answer.Records.Equal(w.x.name.Snapshot) && w.oldPath()
	return w.staged == 0 && !w.claim && (exact || w.tenant || w.reverted > 0)
}

func (w *world) record(a RecordPlan, seen int) {
	if seen != len(w.stamps) && !w.loose() {
		return
	}
	if _, ok := w.records[a.Attempt]; ok && w.m.world != recordsAgain {
		return
	}
	if w.snap == nil || w.m.world == forgetsChain || w.m.world == recordsAgain {
		r := w.zoneNow().answer.Records
		w.snap = &r
	}
	v, _ := strconv.Atoi(a.Hash[1:])
	w.records[a.Attempt], w.top, w.failures = v, max(w.top, a.Attempt), 0
	w.append(v1alpha1.StampRecorded, 0, a.Attempt)
}

func (w *world) changeNames(a ChangeNames, d deed, isLate bool) {
	z, c := w.zoneNow(), &a.Changes[0]
	m, b := z.answer.Mark, c.Before.Mark
	if !z.answer.Records.Equal(c.Before.Records) || m.Owner != b.Owner || m.Sequence != b.Sequence {
		return // prerequisites: the exact previous set and mark
	}
	before := z.kind
	w.write(c.After)
	after := w.zoneNow().kind
	up, down := place(after) > place(before), place(after) < place(before)
	w.fail(reshift, up && w.aborted[d.attempt] && !d.back)
	w.fail(lostNew, up && !isLate && !w.newPath())
	w.fail(lostOld, down && !isLate && after == 'O' && !w.oldPath())
}

func place(kind byte) int { return strings.IndexByte("OXN", kind) }

func (w *world) apply(a Apply) {
	v, _ := strconv.Atoi(a.Hash[1:])
	if w.staged != v {
		w.excuseNew = w.excuseNew && w.staged == 0
		w.staged, w.programed = v, false
	}
}

// cut ends the connections of a path if its removal really cuts them; then somebody lost one.
func (w *world) cut(path byte, really bool) {
	if !really {
		return
	}
	kept := w.conns[:0]
	for _, c := range w.conns {
		if c.path != path {
			kept = append(kept, c)
		}
	}
	if len(kept) != len(w.conns) {
		w.fail(lostOld, path == 'O')
		w.fail(lostNew, path == 'N')
	}
	w.conns = kept
}
