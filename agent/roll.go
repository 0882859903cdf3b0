package agent

import (
	"fmt"
	"net/netip"
	"slices"

	"offramp.dev/api/v1alpha1"
)

const (
	// settledAfter is how many listings of the table it takes before events are relied on. Not one: an entry that was being
	// made when listening began has no event, and may be made after the first listing.
	settledAfter = 2
	// relistAfter is after how many sweeps the whole table is listed again, to see whether events told everything, and
	// doubtAfter where the counters saw attempts of which no event told. They may have been refused.
	relistAfter, doubtAfter = 60, 6
	// fewLookups are always cheaper than a listing. Beyond, one lookup costs about as much as lookupCost entries of one.
	fewLookups, lookupCost = 256, 4
	// countFile says how many entries the table has.
	countFile = "/proc/sys/net/netfilter/nf_conntrack_count"
)

// pair is the original tuple of an entry.
type pair struct {
	tuple  Tuple
	client netip.AddrPort
}

func (f *Flow) pair() pair { return pair{f.Tuple, f.Client} }

// roll knows which connections to the watched tuples may stand, so that only those are looked up: a busy node has
// hundreds of thousands of entries, nearly none of them ours. It lists the table first, and follows the events from then
// on. It trusts them as long as nothing was lost, and lists the table again now and then all the same. Whatever it does
// not know for certain makes it list.
type roll struct {
	// list and lookUp ask the kernel.
	list   func(watched map[Tuple]bool) ([]Flow, error)
	lookUp func(wanted map[pair]bool) ([]Flow, error)
	known  map[pair]bool
	// watched is what known is complete for.
	watched map[Tuple]bool
	// attempts are the counters of the sweep before, and begun the events since.
	attempts, begun map[Tuple]uint64
	// listings since nothing was known, sweeps since the last one.
	listings, age int
	// doubt: attempts were counted of which no event told. zoned: a connection stands in a conntrack zone, and is not
	// looked up by its tuple alone.
	doubt, zoned bool
	// suspects are connections that a listing found and no event had told of: it may still come.
	suspects map[pair]bool
}

// read gives the entries of the watched tuples. r holds what the other signals saw, taken before. lost says why the
// events so far did not tell of everything; "" if they did.
func (l *roll) read(r *Reading, watched map[Tuple]bool) (flows []Flow, lost string, err error) {
	lost = l.follow(r)
	if lost != "" || len(r.Losses) > 0 || !r.has(v1alpha1.SignalEvents) || !r.has(v1alpha1.SignalCounters) {
		l.forget()
	}
	l.question(r)
	l.extend(watched)
	l.age++
	if !l.mustList() {
		if flows, err = l.lookUp(l.known); err == nil {
			l.learn(flows)
			return flows, lost, nil
		}
		// What cannot be looked up may still be listed.
		l.forget()
	}
	if flows, err = l.list(watched); err != nil {
		l.forget()
		return nil, lost, err
	}
	l.listed(flows)
	return flows, lost, nil
}

func (r *Reading) has(signal v1alpha1.Signal) bool { return slices.Contains(r.Signals, signal) }

// follow takes the events in, and judges the suspects.
func (l *roll) follow(r *Reading) string {
	l.begun = map[Tuple]uint64{}
	for i := range r.Events {
		f := &r.Events[i].Flow
		delete(l.suspects, f.pair())
		if r.Events[i].Ended {
			delete(l.known, f.pair())
			continue
		}
		l.begun[f.Tuple]++
		if l.known != nil {
			l.known[f.pair()] = true
		}
		l.zoned = l.zoned || f.zoned
	}
	n := len(l.suspects)
	l.suspects = nil
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("conntrack did not tell of %d connections that it lists", n)
}

// question compares the attempts that were counted with the events. One that is sent again, or refused, is doubted too.
func (l *roll) question(r *Reading) {
	before := l.attempts
	l.attempts = make(map[Tuple]uint64, len(r.Counts))
	for t, c := range r.Counts {
		l.attempts[t] = c.Attempts
		l.doubt = l.doubt || before != nil && c.Attempts > before[t]+l.begun[t]
	}
}

// extend takes in what is watched now. Of a tuple that is new nothing is known.
func (l *roll) extend(watched map[Tuple]bool) {
	for t := range watched {
		if !l.watched[t] {
			l.listings = 0
		}
	}
	for p := range l.known {
		if !watched[p.tuple] {
			delete(l.known, p)
		}
	}
	l.watched = watched
}

func (l *roll) forget() { l.known, l.suspects, l.listings, l.doubt = nil, nil, 0, false }

func (l *roll) mustList() bool {
	return l.known == nil || l.listings < settledAfter || l.zoned || l.age >= relistAfter || l.doubt && l.age >= doubtAfter ||
		len(l.known) > fewLookups && len(l.known)*lookupCost > tableSize()
}

// tableSize is how many entries there are; 0 where that is not known.
func tableSize() int {
	n, err := numberIn(countFile)
	if err != nil {
		return 0
	}
	return n
}

// listed takes a listing in, and suspects what it had not known.
func (l *roll) listed(flows []Flow) {
	l.suspects = nil
	if l.listings >= settledAfter {
		l.suspects = map[pair]bool{}
		for i := range flows {
			if !l.known[flows[i].pair()] {
				l.suspects[flows[i].pair()] = true
			}
		}
	}
	l.listings++
	l.age, l.doubt = 0, false
	l.learn(flows)
}

// learn makes known what stands.
func (l *roll) learn(flows []Flow) {
	l.known, l.zoned = make(map[pair]bool, len(flows)), false
	for i := range flows {
		l.known[flows[i].pair()] = true
		l.zoned = l.zoned || flows[i].zoned
	}
}
