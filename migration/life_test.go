package migration

import (
	"offramp.dev/api/v1alpha1"
)

// What happens to the world by itself, by humans and by other owners, and when a run is over.

// human changes its mind every now and then.
func (w *world) human() {
	if w.t%7 != 0 {
		return
	}
	w.changeGoal()
	if w.p(.7) {
		w.approved = w.live
		if v, ok := w.records[w.top]; ok && w.p(.8) {
			w.approved = v
		}
	}
	w.paused = w.p(.12 * w.mild)
	if w.flip && w.p(.35) {
		w.back = !w.back
		if w.p(.4) {
			w.attempt++
		}
	} else {
		w.back = w.back || w.p(.03)
	}
	if w.top > 0 && w.live != w.records[w.top] && w.p(.2) {
		w.attempt, w.approved = max(w.attempt, w.top)+1, w.live
	}
	if len(w.aborted) > 0 && w.p(.3) {
		w.attempt, w.latent = max(w.attempt, w.top)+1, w.latent && w.p(.3)
	}
	if w.p(.02) { // the EntryPoint was lost and comes back
		w.goal, w.back, w.attempt, w.approved, w.paused = 0, false, 1, 0, false
	}
}

func (w *world) changeGoal() {
	if !w.p(.4 * w.mild) {
		return
	}
	chance := .7
	if w.keen {
		chance = .9
	}
	goal := w.rng.IntN(5)
	if w.p(chance) {
		goal = max(w.goal, goal)
	}
	w.goal = goal
}

// rare happens more often in a wild world.
func (w *world) rare(chance float64) bool { return w.p(chance * w.mild) }

func (w *world) weather() {
	w.guard = w.guard || w.rare(.06)
	w.intrude()
	hit := w.p(.02)
	w.fault = hit || w.fault && !w.p(.08)
	w.excuseNew = hit || w.excuseNew
	if hit {
		w.events++
	}
	if w.staged != 0 && w.rare(.015) {
		w.staged, w.programed, w.excuseNew = 0, false, true
		w.events++
	}
	w.drift()
	w.outage()
	if w.rare(.003) && w.field {
		w.field, w.tenant = false, true
		w.events++
	}
	if w.rare(.02) && len(w.cover) < 5 {
		w.cover = append(w.cover, unseen)
	}
	if w.m.world == losesJournal && w.rare(.02) {
		w.stamps, w.peak, w.hist = nil, []int64{0}, nil
	}
	w.foreign = w.foreign || !w.field && w.rare(.02)
}

// intrude: without a guard somebody writes one of our addresses into a Service.
func (w *world) intrude() {
	if w.guard || !w.rare(.08) {
		return
	}
	if w.back && w.claim {
		w.foreign = true
		return
	}
	w.hijack = w.hijack || w.staged != 0
	w.taken = w.taken || w.staged == 0
}

// drift of Service, policy or members; sometimes taken back.
func (w *world) drift() {
	if w.rare(.007) && w.live < 255 {
		w.live++
		w.events++
	}
	if w.rare(.03) && w.live > 1 {
		if v, ok := w.records[w.top]; ok {
			w.live = v
		}
	}
}

// outage: the controller is down, clients sleep, or something stays unseen for a while.
func (w *world) outage() {
	if w.rare(.01) && w.down == 0 {
		w.down = 1 + w.rng.IntN(29)
	}
	if w.rare(.012) {
		w.night = 5 + w.rng.IntN(35)
	}
	switch {
	case w.rare(.03):
		w.blind = w.rng.IntN(5)
	case w.p(.12):
		w.blind = -1
	}
}

// owners: a Git owner of the Service and an owner of the zone put things back every time.
func (w *world) owners() {
	if w.git && !w.field && w.relmark > 0 && w.p(.3) {
		w.field, w.putBackIn = true, w.relmark
		w.reverted++
	}
	z := w.zoneNow()
	if w.zoneOwner && z.answer.Mark.Owner != "" && z.kind != 'O' && w.p(.12) {
		old := z.answer
		old.Records = w.x.name.Snapshot
		w.write(old)
		w.at[0] = len(w.zone) - 1
		w.reverted++
		w.excuseOld = w.excuseOld || !w.field
	}
}

func (w *world) tick() {
	w.t++
	top := len(w.zone) - 1
	if w.inflight != nil && w.t >= w.inflight.at {
		l, down := w.inflight, w.down
		w.inflight, w.down = nil, 1
		w.act(l.deed)
		w.down, top = down, len(w.zone)-1
	}
	w.programed = w.staged != 0 && (w.programed || w.p(.5))
	w.excuseNew = w.excuseNew && (!w.newPath() || w.latent)
	w.trueFail = !w.newPath()
	w.serve(top)
	for n, c := range w.cover {
		if c == unseen && w.p(.12) && !(w.orphan && n == len(w.cover)-1) {
			w.cover[n] = w.t
		}
	}
	live := w.conns[:0]
	for _, c := range w.conns {
		if c.end > w.t {
			live = append(live, c)
		}
	}
	w.conns, w.night = live, max(0, w.night-1)
	for n := range w.caches {
		w.client(n)
	}
	z := w.zoneNow().kind
	works := z != 'N' && w.oldPath() || z != 'O' && w.newPath()
	w.fail(noPath, !(works || w.excuseNew || w.excuseOld || w.tenant))
}

// serve: the primary answers the newest version, the others hand on every one.
func (w *world) serve(top int) {
	w.at[0] = top
	for i := 1; i < len(w.at); i++ {
		for w.at[i] < top && (w.zone[w.at[i]+1].at <= w.t-serverLag || w.p(.3)) {
			w.at[i]++
		}
	}
}

// client of resolver n. The third sticks to an answer past its TTL, and always picks the same member.
func (w *world) client(n int) {
	c := &w.caches[n]
	stuck := n == 2 && w.sticky && c.until <= w.t && w.t < c.sticky
	idle := w.night > 0 || !w.p(w.busy[n]) && (w.noisy || w.busy[1] > .1 || w.p(.5))
	if !stuck && idle {
		return
	}
	if w.t >= c.until && !stuck {
		z := &w.zone[w.at[w.rng.IntN(3)]]
		c.kind, c.until, c.sticky, c.pinned = z.kind, w.t+z.ttl, w.t+z.ttl+w.rng.IntN(14), w.rng.IntN(2)
	}
	path := c.kind
	if path == 'X' {
		pick := w.rng.IntN(2)
		if n == 2 {
			pick = c.pinned
		}
		path = "ON"[pick]
	}
	w.use(path)
}

// use is one request. Latent: probes pass, clients fail.
func (w *world) use(path byte) {
	node, way, ok := w.rng.IntN(len(w.cover)), oldWay, w.oldPath()
	if path == 'N' {
		way, ok = newWay, w.newPath() && !w.latent
		w.samples++
		if w.latent {
			w.failures++
			w.fail(lostNew, w.released())
		}
		w.fail(lostNew, !ok && !w.excuseNew && !w.latent)
	} else {
		w.fail(lostOld, !ok && !w.tenant && !w.excuseOld)
	}
	if ok && w.cover[node] != unseen {
		w.last[way][node] = w.t
	}
	if ok && w.p(.1) {
		w.conns = append(w.conns, connection{path: path, end: w.t + 1 + w.rng.IntN(25)})
	}
}

// budgets count how long a bad state stands that a pass could have ended.
func (w *world) budgets(alive bool) {
	j, z := readJournal(w.stamps, w.attempt), w.zoneNow().kind
	fair := alive && w.reverted == 0 && w.blind < 0
	w.high++
	if !fair || !j.intended || j.step != slotStep || z != 'X' || !w.oldPath() {
		w.high = 0
	}
	dead := fair && z != 'O' && j.intended && w.staged != 0 && !w.newPath() && w.oldPath() && w.shift
	unrepaired := alive && j.latched() && w.staged == 0 && !w.paused
	w.slowly++
	if !dead && !unrepaired || w.back || j.forgotten {
		w.slowly = 0
	}
	w.fail(share, w.high > 26)
	w.fail(slow, w.slowly > 24)
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
	plan, recorded := w.records[w.top]
	j := readJournal(w.stamps, w.attempt)
	switch o.reason {
	case ReasonUndone, ReasonForgotten, ReasonNothingToUndo, ReasonGoalReached, ReasonNewPathInUse:
		return true
	case ReasonReportOnly:
		return w.goal == 0
	case ReasonPaused:
		return w.paused
	case ReasonPlanDrifted:
		return !recorded || w.live != plan
	case ReasonNotApproved:
		return w.goal > 1 && w.approved != plan
	case ReasonAddressTaken, ReasonConflict:
		return w.taken || w.foreign
	case ReasonNotDenied:
		return !w.guard
	case ReasonReverted, ReasonFieldReturned:
		return w.reverted > 0
	case ReasonAborted:
		return w.aborted[max(w.attempt, w.top, w.peak[len(w.peak)-1])]
	case ReasonNotProven:
		return !w.newPath() || w.latent
	case ReasonOldPathFailed:
		return !w.oldPath() && w.zoneNow().kind != 'O' && (w.field || w.relmark == 0 || w.tenant)
	case ReasonNoSample:
		return w.samples == 0
	case ReasonUseUnknown:
		return w.uncovered() && (o.gate == GateForgotten || o.gate == GateProven || !j.latched())
	}
	return false
}

func (w *world) uncovered() bool {
	for _, c := range w.cover {
		if c == unseen {
			return true
		}
	}
	return false
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

// patience is how many passes in a row must do nothing: a hold does not end by itself, waiting may.
func patience(o *outcome) int {
	if o.verdict == Held || o.passes() {
		return 7
	}
	return 56
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
