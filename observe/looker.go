package observe

import (
	"net/netip"
	"sync"
	"time"

	"offramp.dev/migration"
	"offramp.dev/probe"
)

// Looker looks for one process. It remembers probe rounds and when it passed by, which a restart may lose: then the
// next rounds are waited for again. Passes of different entry points may look at once: no lock that they share is held
// while somebody waits for the network.
type Looker struct {
	Ports

	mu      sync.Mutex
	history map[string]*rounds
	// surveying lets one pass at a time look at what is true of the whole cluster; the others wait for its answer.
	surveying sync.Mutex
	cluster   clusterFacts
	// planning guards planned: new addresses are chosen by one entry point at a time, so that no two choose the same one.
	planning sync.Mutex
	// planned are the new addresses of the last plan that was made here, by entry point.
	planned map[string][]netip.Addr
}

// NewLooker makes a Looker.
func NewLooker(p Ports) *Looker {
	return &Looker{Ports: p, history: map[string]*rounds{}, planned: map[string][]netip.Addr{}}
}

// rounds is the memory of one entry point.
type rounds struct {
	sync.Mutex

	newPath, oldPath tally
	lastPass         time.Time
	safeUntil        time.Time
	guardedAt        time.Time
	guarded          migration.Seen[bool]
	guardedSet       string
}

// tally counts the probe rounds of one path since a stamp.
type tally struct {
	since             time.Time
	last              time.Time
	samples, failures int
	good              int
	healthy           migration.Seen[bool]
	detail            string
	results           []probe.Result
}

func (l *Looker) of(name string) *rounds {
	l.mu.Lock()
	defer l.mu.Unlock()
	h, ok := l.history[name]
	if !ok {
		h = &rounds{}
		l.history[name] = h
	}
	return h
}

// Forget drops the memory of an entry point that is gone.
func (l *Looker) Forget(name string) {
	l.mu.Lock()
	delete(l.history, name)
	l.mu.Unlock()
	l.planning.Lock()
	delete(l.planned, name)
	l.planning.Unlock()
}

// slotGap is the longest time between two passes in which a slot's high set may stand.
const slotGap = 10 * time.Second

// slots tells whether there was no gap in our passes longer than a slot.
func (l *Looker) slots(name string, now time.Time) bool {
	h := l.of(name)
	h.Lock()
	defer h.Unlock()
	if h.lastPass.IsZero() || now.Sub(h.lastPass) > slotGap {
		h.safeUntil = now.Add(slotGap)
	}
	h.lastPass = now
	return !now.Before(h.safeUntil)
}
