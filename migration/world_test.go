package migration

import (
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
)

// The world of the random walk: one entry point with one name on three servers. The servers lag and hand on every
// version in order; resolvers obey the TTL or stick far past it; connections live long; the new path fails and recovers;
// routes vanish; tenants, a Git owner and a zone owner put things back; nodes lack an agent; caches are stale; actions
// are lost, repeated or late; looks fail; the controller is down; a human changes goal, direction, attempt, approval and
// pause at random. Then all is quiet, and the run must end. Time is counted in ticks.
const (
	tick      = 5 * time.Second
	quietTime = 3 // ticks of the drain window
	soakTime  = 1
	slotTime  = 2
	serverLag = 6 // most ticks that a server is behind
	lateTime  = 4 // most ticks that an action may be on its way
	staleTime = 4 // most passes that the object cache is behind
	slotStep  = dnsctl.Step(1)
)

// What can go wrong in a run; see the assertions where they are set.
const (
	lostOld = 1 << iota
	lostNew
	noPath
	afterEnd
	many
	reshift
	inexact
	readd
	stuck
	share
	slow
	blindly
)

func faultNames() []string {
	return []string{
		"lost-old", "lost-new", "no-path", "after-end", "many", "reshift", "inexact", "readd", "stuck", "share", "slow", "blindly",
	}
}

// fixture is what all runs share and none changes.
type fixture struct {
	name   dnsctl.Name
	plans  []*Plan
	hashes []string
}

func newFixture() *fixture {
	oldAddr, newAddr := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("203.0.113.1")
	x := &fixture{name: dnsctl.Name{
		Name: "www.example.org", Zone: "example",
		Snapshot: dnsctl.RecordSet{A: dnsctl.RRset{Addresses: []netip.Addr{oldAddr}, TTL: 80}},
		Old:      []netip.Addr{oldAddr}, New: []netip.Addr{newAddr}, LowTTL: 30,
	}}
	for v := range 256 {
		hash := "v" + strconv.Itoa(v)
		x.hashes = append(x.hashes, hash)
		x.plans = append(x.plans, &Plan{Strategy: v1alpha1.StrategyLoadBalancer, Why: hash, Settings: Settings{
			LowTTL: 30, Percents: []int32{25, 50, 100}, StepSoak: soakTime * 5, Soak: soakTime * 5,
			DrainWindow: quietTime * 5, MaxLifetime: quietTime * 5, Rounds: 3, ProbeInterval: 5, Recheck: 3600,
			OnFailure: v1alpha1.OnFailureHold,
		}})
	}
	return x
}

// shiftBack is the same plan with the other answer to a failure.
func (x *fixture) shiftBack() *fixture {
	y := &fixture{name: x.name, hashes: x.hashes}
	for _, p := range x.plans {
		q := *p
		q.Settings.OnFailure = v1alpha1.OnFailureShiftBack
		y.plans = append(y.plans, &q)
	}
	return y
}

// mutation takes one rule, latch or fix out: of the core (rules), of what is seen (facts), or of what the controllers do
// around the core (world).
type mutation struct {
	name, what string
	rules      func(*rules)
	facts      func(*Facts)
	world      defect
	// bias makes a world in which the rule matters more often; it is applied at the start and when the world turns calm.
	bias func(*world)
	// hint is a seed at which the walk notices.
	hint uint64
}

// defect is a rule that the controllers break.
type defect int

const (
	sound defect = iota
	actsTwice
	neverRereads
	rereadsFour
	recordsAgain
	losesJournal
	liftsGuard
	forgetsChain
	leadsAtOnce
)

// version is one state of the zone.
type version struct {
	answer dnsctl.Answer
	kind   byte // O old, X both, N new
	ttl    int
	at     int
}

type cacheEntry struct {
	kind   byte
	until  int // end of the TTL
	sticky int // end of stickiness
	pinned int
}

type connection struct {
	path byte
	end  int
}

// objects is what the API server holds; a cache may be behind.
type objects struct {
	stamps                                   int
	field, claim, guard, taken, back, paused bool
	relmark, record, attempt                 int64
	staged, live, goal, approve              int
}

const nowhere = -1 << 30

// both paths, as index.
const (
	oldWay = iota
	newWay
)

type world struct {
	rng   *rand.Rand
	rules *rules
	m     *mutation
	x     *fixture
	bad   int
	t     int

	// objects
	stamps    []Stamp
	peak      []int64
	records   map[int64]int
	top       int64
	snap      *dnsctl.RecordSet
	field     bool
	relmark   int64
	claim     bool
	staged    int
	live      int
	goal      int
	back      bool
	attempt   int64
	approved  int
	paused    bool
	guard     bool
	hist      []objects
	lag       int
	facts     Facts
	names     [1]NameFacts
	servers   [3]Seen[dnsctl.Answer]
	fields    [1]Field
	plans     [1]AttemptPlan
	inflight  *late
	zone      []version
	at        [3]int
	caches    [3]cacheEntry
	conns     []connection
	cover     []int // per node: since when an agent reports without a gap; nowhere+1 means never
	last      [2][6]int
	aborted   map[int64]bool
	blind     int // what nobody can see for a while: a server, 3 the probes, 4 the agents; -1 nothing
	busy      [3]float64
	mild      float64
	programed bool
	putBackIn int64 // the attempt whose release a Git owner reverted last

	noisy, fault, taken, foreign, hijack, tenant, excuseNew, excuseOld, trueFail bool
	sticky, survives, proxy, latent, git, zoneOwner, orphan, keen, flip, shift   bool

	samples, failures, acts, events, high, slowly, reverted, night, down, lastPass, safeUntil int
}

// late is an action that is still on its way.
type late struct {
	at int
	deed
}

// deed is an action with what its decision saw.
type deed struct {
	stamps  int
	attempt int64
	back    bool
	action  Action
}

const unseen = nowhere + 1

func newWorld(seed uint64, m *mutation, r *rules, hold, shiftBack *fixture) *world {
	w := &world{
		rng: rand.New(rand.NewPCG(seed, 1)), rules: r, m: m, noisy: true, aborted: map[int64]bool{}, blind: -1,
		peak: []int64{0}, records: map[int64]int{}, field: true, live: 1, cover: []int{-99, -99},
	}
	for p := range w.last {
		for n := range w.last[p] {
			w.last[p][n] = -99
		}
	}
	w.sticky, w.survives, w.proxy, w.latent = w.p(.5), w.p(.6), w.p(.5), w.p(.15)
	w.git, w.zoneOwner, w.orphan, w.keen = w.p(.12), w.p(.12), w.p(.15), w.p(.6)
	w.attempt, w.mild, w.x = 1, 1, hold
	if w.keen { // a keen human in a mild world gets far
		w.mild, w.flip, w.guard, w.goal, w.approved = .35, w.p(.25), w.p(.9), 3+w.rng.IntN(2), 1
	} else {
		w.flip, w.guard, w.goal = w.p(.4), w.p(.7), w.rng.IntN(5)
	}
	if w.shift = w.p(.85); w.shift {
		w.x = shiftBack
	}
	w.busy = [][3]float64{{.7, .25, .6}, {.7, .25, .6}, {0, .2, 0}, {.02, .01, .02}}[w.rng.IntN(4)]
	for i := range w.caches {
		w.caches[i].kind = 'O'
	}
	if m.bias != nil {
		m.bias(w)
	}
	w.zone = []version{{answer: dnsctl.Answer{Records: w.x.name.Snapshot}, kind: 'O', ttl: 16, at: -99}}
	return w
}

func (w *world) p(chance float64) bool { return w.rng.Float64() < chance }

func (w *world) fail(f int, when bool) {
	if when {
		w.bad |= f
	}
}

func (w *world) time(t int) time.Time {
	return time.Unix(1_800_000_000, 0).Add(time.Duration(t) * tick)
}

func (w *world) newPath() bool { return w.staged != 0 && w.programed && !w.fault && !w.hijack }

func (w *world) oldPath() bool { return w.field && !w.foreign }

func (w *world) zoneNow() *version { return &w.zone[len(w.zone)-1] }

func (w *world) append(kind v1alpha1.StampKind, step dnsctl.Step, attempt int64) {
	w.stamps = append(w.stamps, Stamp{Kind: kind, Step: step, Attempt: attempt, At: w.time(w.t)})
	w.peak = append(w.peak, max(w.peak[len(w.peak)-1], attempt))
}

func (w *world) write(a dnsctl.Answer) {
	n := &w.x.name
	v := version{answer: a, kind: 'O', ttl: int(a.Records.A.TTL) / 5, at: w.t}
	switch hasNew, hasOld := n.HasNew(a.Records), n.HasOld(a.Records); {
	case hasNew && hasOld:
		v.kind = 'X'
	case hasNew:
		v.kind = 'N'
	}
	w.zone = append(w.zone, v)
}

func (w *world) released() bool {
	for i := range w.stamps {
		if w.stamps[i].Kind == v1alpha1.StampReleased {
			return true
		}
	}
	return false
}

// over tells whether the walk of the attempt has ended.
func (w *world) over(attempt int64) bool {
	for i := len(w.stamps) - 1; i >= 0; i-- {
		switch s := &w.stamps[i]; s.Kind {
		case v1alpha1.StampForgotten:
			return true
		case v1alpha1.StampUndone:
			return s.Attempt >= attempt
		}
	}
	return false
}

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
	w.names[0] = NameFacts{Name: w.x.name, Servers: w.servers[:]}
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

func (w *world) rereads(a Action) bool {
	switch a.(type) {
	case Release, Restore, Remove, Forget:
		return w.m.world != neverRereads
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
	o.guard, o.live, o.taken, o.goal, o.approve, o.paused = seen.Guarded.Value, w.live, len(seen.Claims.Conflicts) > 0, w.goal, w.approved, w.paused
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
