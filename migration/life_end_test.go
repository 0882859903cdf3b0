package migration

import (
	"slices"

	"offramp.dev/api/v1alpha1"
)

// budgets count how long a bad state stands that a pass could have ended.
func (w *world) budgets(alive bool) {
	j := readJournal(w.stamps, w.attempt)
	fair := alive && w.reverted == 0 && w.blind < 0 && j.intended
	w.high++
	if !fair || !w.slotIsHigh(&j) {
		w.high = 0
	}
	unrepaired := alive && j.latched() && w.staged == 0 && !w.paused
	w.slowly++
	if (!fair || !w.servesDead()) && !unrepaired || w.back || j.forgotten {
		w.slowly = 0
	}
	w.fail(share, w.high > 26)
	w.fail(slow, w.slowly > 24)
}

func (w *world) slotIsHigh(j *journal) bool {
	return j.step == slotStep && w.zoneNow().kind == 'X' && w.oldPath()
}

// servesDead: names serve a new path that is down, while the old one is fine and the policy says to shift back.
func (w *world) servesDead() bool {
	return w.zoneNow().kind != 'O' && w.staged != 0 && !w.newPath() && w.oldPath() && w.shift
}

// calm: world and human become quiet. The steady state is sometimes a bad one.
func (w *world) calm() {
	w.noisy, w.night, w.blind = false, 0, -1
	if w.inflight == nil {
		w.down = 0
	}
	w.fault, w.guard, w.paused, w.back = w.p(.1), w.guard || w.p(.9), w.p(.1), w.p(.35)
	if w.p(.5) {
		w.git, w.zoneOwner = false, false
	}
	if w.p(.3) && w.released() { // a new node without an agent
		w.cover, w.orphan = append(w.cover, unseen), true
	}
	if w.p(.7) {
		w.attempt, w.latent = max(w.attempt, w.top)+1, false
	}
	if w.p(.5) && w.top > 0 {
		w.live = w.records[w.top]
	}
	w.excuseNew = w.excuseNew || w.fault
	w.goal = []int{0, 1, 1, 2, 2, 3, 3, 4, 4, 4}[w.rng.IntN(10)]
	w.approved = 0
	if w.goal > 1 {
		w.approved = w.live
	}
	if w.m.bias != nil {
		w.m.bias(w)
	}
}

// true tells whether the reason of a run that stands still is a true one.
func (w *world) true(o *outcome) bool {
	reasons := w.trueReasons(o)
	return reasons[o.reason]
}

func (w *world) trueReasons(o *outcome) map[string]bool {
	plan, recorded := w.records[w.top]
	j := readJournal(w.stamps, w.attempt)
	oldPathGone := w.field || w.relmark == 0 || w.tenant
	return map[string]bool{
		ReasonUndone: true, ReasonForgotten: true, ReasonNothingToUndo: true, ReasonGoalReached: true, ReasonNewPathInUse: true,
		ReasonReportOnly: w.goal == 0, ReasonPaused: w.paused, ReasonPlanDrifted: !recorded || w.live != plan,
		ReasonNotApproved: w.goal > 1 && w.approved != plan, ReasonAddressTaken: w.taken || w.foreign, ReasonConflict: w.taken || w.foreign,
		ReasonNotDenied: !w.guard, ReasonReverted: w.reverted > 0, ReasonFieldReturned: w.reverted > 0,
		ReasonAborted:       w.aborted[max(w.attempt, w.top, w.peak[len(w.peak)-1])],
		ReasonNotProven:     !w.newPath() || w.latent,
		ReasonOldPathFailed: !w.oldPath() && w.zoneNow().kind != 'O' && oldPathGone,
		ReasonUseUnknown:    w.uncovered() && (o.gate == GateForgotten || o.gate == GateProven || !j.latched()),
	}
}

func (w *world) uncovered() bool {
	return slices.Contains(w.cover, unseen)
}

// run walks until all is quiet and the walk stands still, and answers what went wrong on the way.
func (w *world) run(trace func(*world, outcome)) (int, outcome) {
	noise := 20 + w.rng.IntN(90)
	if w.keen {
		noise += 140
	}
	row, still := w.spend(noise, trace)
	switch {
	case row.action != nil && (!still || !w.true(&row)):
		w.bad |= many
	case !still || !w.true(&row):
		w.bad |= stuck
	case w.slowly > 0:
		w.bad |= slow
	}
	w.fail(many, w.acts > 26*(len(w.records)+1)+4*w.events)
	if row.passes() {
		w.afterLife()
	}
	return w.bad, row
}

func (w *world) spend(noise int, trace func(*world, outcome)) (outcome, bool) {
	idle, row := 0, outcome{}
	for n := range noise + 420 {
		switch {
		case n < noise:
			w.human()
			w.weather()
		case n == noise:
			w.calm()
		}
		w.owners()
		stamps, versions, acts, alive := len(w.stamps), len(w.zone), w.acts, w.down == 0
		if alive {
			row = w.control()
		} else {
			w.down--
		}
		if trace != nil {
			trace(w, row)
		}
		w.budgets(alive)
		w.tick()
		idle++
		if n < noise || row.action != nil || row.gate == "" || stamps != len(w.stamps) || versions != len(w.zone) || acts != w.acts {
			idle = 0
		}
		if idle > patience(&row) {
			return row, true
		}
	}
	return row, false
}

// patience is how many passes in a row must do nothing: a hold does not end by itself, waiting may. It is long enough
// that the rarest clients come with all but certainty.
func patience(o *outcome) int {
	if o.verdict == Held || o.passes() {
		return 7
	}
	return 112
}

// afterLife: lawful life after the end must move nothing.
func (w *world) afterLife() {
	w.field, w.tenant, w.excuseNew, w.back = false, true, true, w.back && w.p(.5)
	n := len(w.stamps)
	for i := range w.stamps {
		if w.stamps[i].Kind == v1alpha1.StampForgotten {
			w.staged = 0
		}
	}
	for range 12 {
		over := w.over(w.rules.attempt(*w.observe(false)))
		row := w.control()
		w.tick()
		w.fail(afterEnd, over && (len(w.stamps) != n || row.action != nil))
	}
}
