package traffic

import (
	"maps"
	"math"
	"slices"
	"sync"
	"time"
)

// maxSources bounds the set of client addresses kept for each address.
const maxSources = 100

// outcome is the end of one request.
type outcome struct {
	at      time.Time
	took    time.Duration
	address string
	// class is empty for an answered request.
	class Class
	err   error
	// source and forwarded are what the backend saw.
	source, forwarded string
}

// tally counts requests. One lock holds all counts, so that every look adds up.
type tally struct {
	mu                                 sync.Mutex
	since                              time.Time
	sent, answered, lost, open, missed int64
	lag                                time.Duration
	list                               []Lost
	last                               *Lost
	classes                            map[Class]int64
	addresses                          map[string]*addressTally
	ring                               ring
}

type addressTally struct {
	answered, lost     int64
	sources, forwarded map[string]bool
	latency            latency
}

func newTally(now time.Time) *tally {
	return &tally{since: now, classes: map[Class]int64{}, addresses: map[string]*addressTally{}}
}

// begin counts a request as sent, or as missed when too many are in flight.
func (t *tally) begin(limit int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open >= limit {
		t.missed++
		return false
	}
	t.sent++
	t.open++
	return true
}

// due takes in how late a request would be sent; too late, it is missed.
func (t *tally) due(lag time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lag = max(t.lag, lag)
	if lag > late {
		t.missed++
		return false
	}
	return true
}

// end counts the end of a request that begin let through.
func (t *tally) end(o outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open--
	t.ring.add(o)
	if o.class == "" {
		t.answered++
	} else {
		t.lose(o)
	}
	if o.address != "" {
		t.address(o.address).add(o)
	}
}

func (t *tally) lose(o outcome) {
	t.lost++
	t.classes[o.class]++
	last := Lost{Time: o.at, Address: o.address, Class: o.class, Error: o.err.Error()}
	if len(t.list) < maxDetailed {
		t.list = append(t.list, last)
	}
	if t.last == nil || t.last.Time.Before(last.Time) {
		t.last = &last
	}
}

func (t *tally) address(a string) *addressTally {
	if t.addresses[a] == nil {
		t.addresses[a] = &addressTally{sources: map[string]bool{}, forwarded: map[string]bool{}}
	}
	return t.addresses[a]
}

// stats is one look at all counts; last > 0 asks for a window too.
func (t *tally) stats(now time.Time, last time.Duration) Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := Stats{
		Since: t.since, Sent: t.sent, Answered: t.answered, Lost: t.lost, InFlight: t.open, MissedTicks: t.missed,
		MaxLag:   float64(t.lag) / float64(time.Millisecond),
		LostList: append([]Lost{}, t.list...), LastLost: t.last, LostByClass: maps.Clone(t.classes), PerAddress: map[string]AddressStats{},
	}
	for a, at := range t.addresses {
		s.PerAddress[a] = at.stats()
	}
	if last > 0 {
		w := t.ring.window(now, last)
		s.Window = &w
	}
	return s
}

func (a *addressTally) add(o outcome) {
	if o.class != "" {
		a.lost++
		return
	}
	a.answered++
	a.latency.add(o.took)
	remember(a.sources, o.source)
	remember(a.forwarded, o.forwarded)
}

func remember(set map[string]bool, s string) {
	if s != "" && len(set) < maxSources {
		set[s] = true
	}
}

// sorted is never nil: in JSON an empty list is not null.
func sorted(set map[string]bool) []string {
	return append([]string{}, slices.Sorted(maps.Keys(set))...)
}

func (a *addressTally) stats() AddressStats {
	return AddressStats{
		Answered: a.answered, Lost: a.lost,
		Sources: sorted(a.sources), ForwardedFor: sorted(a.forwarded),
		P50: a.latency.percentile(0.50), P99: a.latency.percentile(0.99),
	}
}

// latency is a histogram whose steps grow by 5 % from a tenth of a millisecond to beyond 5 s.
type latency struct {
	counts [232]int64
	all    int64
}

const (
	latencyFirst = 0.1 // milliseconds
	latencyGrow  = 1.05
)

func (l *latency) add(d time.Duration) {
	ms := float64(d) / float64(time.Millisecond)
	step := 0
	if ms > latencyFirst {
		step = int(math.Ceil(math.Log(ms/latencyFirst) / math.Log(latencyGrow)))
	}
	l.counts[min(step, len(l.counts)-1)]++
	l.all++
}

// percentile is the upper edge of the step that holds it, in milliseconds; 0 when there is none.
func (l *latency) percentile(p float64) float64 {
	rank := int64(math.Ceil(p * float64(l.all)))
	var seen int64
	for step, n := range l.counts {
		if seen += n; n > 0 && seen >= rank {
			return math.Round(1000*latencyFirst*math.Pow(latencyGrow, float64(step))) / 1000
		}
	}
	return 0
}

// ringSeconds is how far back a window can look.
const ringSeconds = 600

// ring counts by the second.
type ring [ringSeconds]struct {
	second int64
	counts map[string]WindowCount
}

func (r *ring) add(o outcome) {
	second := o.at.Unix()
	b := &r[second%ringSeconds]
	if b.second != second {
		b.second, b.counts = second, map[string]WindowCount{}
	}
	c := b.counts[o.address]
	if o.class == "" {
		c.Answered++
	} else {
		c.Lost++
	}
	b.counts[o.address] = c
}

// window sums the last whole seconds and the running one.
func (r *ring) window(now time.Time, last time.Duration) Window {
	w := Window{Seconds: int(last / time.Second), PerAddress: map[string]WindowCount{}}
	first := now.Add(-last).Unix()
	for i := range r {
		if r[i].second < first || r[i].second > now.Unix() {
			continue
		}
		for a, n := range r[i].counts {
			c := w.PerAddress[a]
			w.PerAddress[a] = WindowCount{Answered: c.Answered + n.Answered, Lost: c.Lost + n.Lost}
		}
	}
	return w
}
