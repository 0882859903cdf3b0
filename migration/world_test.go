package migration

import (
	"math/rand/v2"
	"net/netip"
	"strconv"
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
	shown
)

func faultNames() []string {
	return []string{
		"lost-old", "lost-new", "no-path", "after-end", "many", "reshift", "inexact", "readd", "stuck", "share", "slow", "blindly", "shown",
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
		s := &w.stamps[i]
		if s.Kind == v1alpha1.StampForgotten || s.Kind == v1alpha1.StampUndone {
			return s.Kind == v1alpha1.StampForgotten || s.Attempt >= attempt
		}
	}
	return false
}
