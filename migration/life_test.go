package migration

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
	w.turn()
	w.rearm()
	if w.p(.02) { // the EntryPoint was lost and comes back
		w.goal, w.back, w.attempt, w.approved, w.paused = 0, false, 1, 0, false
	}
}

// turn changes the direction.
func (w *world) turn() {
	if w.flip && w.p(.35) {
		w.back = !w.back
		if w.p(.4) {
			w.attempt++
		}
	} else {
		w.back = w.back || w.p(.03)
	}
}

// rearm starts another attempt, after a drift or an abort.
func (w *world) rearm() {
	if w.top > 0 && w.live != w.records[w.top] && w.p(.2) {
		w.attempt, w.approved = max(w.attempt, w.top)+1, w.live
	}
	if len(w.aborted) > 0 && w.p(.3) {
		w.attempt, w.latent = max(w.attempt, w.top)+1, w.latent && w.p(.3)
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
	w.tenants()
	if w.m.world == losesJournal && w.rare(.02) {
		w.stamps, w.peak, w.hist = nil, []int64{0}, nil
	}
}

// tenants take the field away, grow the cluster by a node without an agent, or take a free address.
func (w *world) tenants() {
	if w.rare(.003) && w.field {
		w.field, w.tenant = false, true
		w.events++
	}
	if w.rare(.02) && len(w.cover) < 5 {
		w.cover = append(w.cover, unseen)
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
	w.age()
	for n := range w.caches {
		w.client(n)
	}
	z := w.zoneNow().kind
	works := z != 'N' && w.oldPath() || z != 'O' && w.newPath()
	w.fail(noPath, !works && !w.excuseNew && !w.excuseOld && !w.tenant)
}

// age lets agents come up, connections end and the night pass.
func (w *world) age() {
	for n, c := range w.cover {
		if c == unseen && w.p(.12) && (!w.orphan || n != len(w.cover)-1) {
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
