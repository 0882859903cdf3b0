package migration

import (
	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
)

func goals() []v1alpha1.Goal {
	return []v1alpha1.Goal{
		v1alpha1.GoalReport, v1alpha1.GoalStage, v1alpha1.GoalCutOver, v1alpha1.GoalRelease, v1alpha1.GoalForget,
	}
}

func (w *world) objectsNow() objects {
	return objects{
		stamps: len(w.stamps), field: w.field, relmark: w.relmark, staged: w.staged, claim: w.claim, guard: w.guard, live: w.live,
		record: w.top, taken: w.taken, goal: w.goal, back: w.back, attempt: w.attempt, approve: w.approved, paused: w.paused,
	}
}

// observe makes the facts. Objects come from a cache that may be behind; names, probes and agents are looked at now.
func (w *world) observe(cached bool) *Facts {
	o := w.objectsNow()
	if cached {
		o = w.fromCache(o)
	}
	f := &w.facts
	w.observeObjects(f, &o)
	p := 0.0
	if w.noisy {
		p = .2 * w.mild
	}
	for i := range w.servers {
		w.servers[i] = Seen[dnsctl.Answer]{}
		if w.blind != i && w.look(p) {
			w.servers[i] = See(w.zone[w.at[i]].answer)
		}
	}
	w.observePaths(f, p)
	w.observeUse(f, p)
	if w.m.facts != nil {
		w.m.facts(f)
	}
	return f
}

// look tells whether a look succeeds.
func (w *world) look(p float64) bool { return p == 0 || !w.p(p) }

func (w *world) fromCache(now objects) objects {
	if len(w.hist) > staleTime {
		copy(w.hist, w.hist[1:])
		w.hist = w.hist[:len(w.hist)-1]
	}
	w.hist = append(w.hist, now)
	if w.noisy && w.p(.4) {
		w.lag = min(len(w.hist)-1, w.lag+1, staleTime)
	} else {
		w.lag = 0
	}
	return w.hist[len(w.hist)-1-w.lag]
}

func (w *world) observeObjects(f *Facts, o *objects) {
	version := w.records[o.record]
	w.fields[0] = Field{Service: "shop/web", Present: o.field, Mark: o.relmark}
	if w.foreign {
		w.fields[0].Foreign = "Service other/web"
	}
	w.names[0] = NameFacts{Name: w.x.name, Servers: w.servers[:], Rotates: See(true)}
	if w.snap != nil {
		w.names[0].Name.Snapshot = *w.snap
	}
	direction := v1alpha1.DirectionForward
	if o.back {
		direction = v1alpha1.DirectionBack
	}
	*f = Facts{
		Now:     w.time(w.t),
		Intent:  Intent{Goal: goals()[o.goal], Direction: direction, Attempt: o.attempt, Paused: o.paused},
		Guarded: See(o.guard), Live: w.x.plans[o.live], Names: w.names[:], Fields: w.fields[:], Slots: w.t >= w.safeUntil,
		Record: Record{Name: "shop-web-1", Exists: o.record > 0, Stamps: w.stamps[:o.stamps]},
		Claims: Claims{Complete: o.claim, Any: o.claim},
		Target: Target{Exact: o.staged == version && version != 0, Any: o.staged != 0},
	}
	if o.approve > 0 {
		f.Intent.ApprovedPlan = w.x.hashes[o.approve]
	}
	if o.taken {
		f.Claims.Conflicts = []string{"Service other/web"}
	}
	if o.record > 0 {
		w.plans[0] = AttemptPlan{Attempt: o.record, Hash: w.x.hashes[version], Plan: w.x.plans[version]}
		f.Record.Plans = w.plans[:]
	}
}

func (w *world) observePaths(f *Facts, p float64) {
	if w.blind != 3 && w.look(p) {
		f.New.Healthy = See(w.newPath())
	}
	if w.blind != 3 && w.look(p) {
		f.Old.Healthy = See(w.oldPath())
	}
	f.New.Rounds = 3
	if w.latent && w.failures > 0 || !f.New.Healthy.Value {
		f.New.Rounds = 0
	}
	if w.latent {
		f.New.Failures = failureBudget * w.failures
	}
	f.New.Samples = w.samples * 1000
}

func (w *world) observeUse(f *Facts, p float64) {
	since := -99
	for _, c := range w.cover {
		since = max(since, c)
		if c == unseen || w.blind == 4 {
			since = unseen
			break
		}
	}
	f.OldUse = w.useOf(oldWay, since, p)
	f.NewUse = w.useOf(newWay, since, p)
}

func (w *world) useOf(way, since int, p float64) Use {
	u := Use{Survives: w.survives, ProxyGoes: way == newWay && w.proxy}
	if since != unseen && w.look(p) {
		from := since
		for _, t := range w.last[way] {
			from = max(from, t)
		}
		u.QuietSince = See(w.time(from))
	}
	if w.look(p) {
		n := int64(0)
		for i := range w.conns {
			if w.conns[i].path == "ON"[way] {
				n++
			}
		}
		u.Established = See(n)
	}
	return u
}
