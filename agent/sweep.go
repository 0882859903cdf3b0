package agent

import (
	"slices"
	"time"

	"offramp.dev/api/v1alpha1"
)

// sweep is the taking in of one reading. The order matters: events say how what stood before ended, the listing says
// what stands now, and counters are asked last for what neither of them explains.
type sweep struct {
	*Observer
	now      time.Time
	reading  *Reading
	before   map[connection]entry
	standing map[connection]entry
	// orderly are the connections that were being torn down when they ended.
	orderly map[connection]bool
	// talked are the tuples that had a replied connection, so that packets to them are explained.
	talked map[*usage]bool
}

func (s *sweep) run() {
	for i := range s.reading.Events {
		s.event(&s.reading.Events[i])
	}
	s.list()
	s.vanished()
	for t, c := range s.reading.Counts {
		if u := s.tuples[t]; u != nil {
			s.count(t, u, c)
		}
	}
}

func (s *sweep) has(signal v1alpha1.Signal) bool { return slices.Contains(s.reading.Signals, signal) }

func (s *sweep) event(e *Event) {
	u := s.tuples[e.Flow.Tuple]
	if u == nil {
		return
	}
	id := s.connection(e.Flow.Tuple, e.Flow.Client)
	was := s.before[id]
	switch {
	case !e.Ended:
		u.lastAttempt = s.attempt(e.Flow.Tuple, u)
		// The client took the same port again: what comes now is another connection.
		delete(s.before, id)
		delete(s.orderly, id)
	case e.Flow.Replied:
		s.talked[u] = true
		s.orderly[id] = e.Flow.Closing
		// It opened and closed between two sweeps, or was not answered before.
		if !was.replied {
			u.lastNew = s.now
		}
	}
}

// attempt dates an attempt to connect; UDP has none.
func (s *sweep) attempt(t Tuple, u *usage) time.Time {
	if t.Protocol == udp {
		return u.lastAttempt
	}
	return s.now
}

// list takes the conntrack entries in.
func (s *sweep) list() {
	s.standing = make(map[connection]entry, len(s.reading.Flows))
	for _, u := range s.tuples {
		u.established, u.halfOpen, u.translated = 0, 0, 0
		u.listener = s.reading.Listening[u.tuple]
	}
	for i := range s.reading.Flows {
		if u := s.tuples[s.reading.Flows[i].Tuple]; u != nil {
			s.flow(&s.reading.Flows[i], u)
		}
	}
}

func (s *sweep) flow(f *Flow, u *usage) {
	id := s.connection(f.Tuple, f.Client)
	if _, twice := s.standing[id]; twice {
		// The same tuple in another conntrack zone, or an entry that a listing gave twice, is the same connection.
		return
	}
	open := f.Replied && !f.Closing
	was, old := s.before[id]
	switch {
	case open:
		u.established++
		if f.Translated {
			u.translated++
		}
	case !f.Replied && f.Tuple.Protocol != udp:
		u.halfOpen++
	}
	if !old {
		u.lastAttempt = s.attempt(f.Tuple, u)
	}
	// An entry that stood in the last listing is not new. UDP has no connections: every entry is use now.
	if f.Replied && !was.replied || f.Tuple.Protocol == udp {
		u.lastNew = s.now
	}
	if f.Replied {
		s.talked[u] = true
	}
	s.standing[id] = entry{usage: u, replied: f.Replied, open: open, halfClosed: f.HalfClosed, until: s.now.Add(f.Left).Unix()}
}

// vanished begins the coverage of tuples anew whose connections are gone without having ended: the table was flushed,
// and the client does not know it. News of the end may come later than the listing, so a connection that is missing
// stands for one more sweep.
func (s *sweep) vanished() {
	if !s.has(v1alpha1.SignalEntries) {
		return
	}
	for id, was := range s.before {
		u := was.usage
		if was.replied {
			s.talked[u] = true
		}
		switch {
		case !was.open || s.ended(id) || s.tuples[u.tuple] != u:
		case s.now.Unix() >= was.until-timerSlack:
			s.expired(was)
		case was.missing:
			s.lost(u, Loss{v1alpha1.GapVanished, "connections to " + u.tuple.String() + " vanished"})
		default:
			u.established++
			was.missing = true
			s.standing[id] = was
		}
	}
}

// ended tells whether an entry still stands, or ended as it should.
func (s *sweep) ended(id connection) bool {
	_, stands := s.standing[id]
	return stands || s.orderly[id]
}

// expired begins the coverage of a tuple anew, one of whose connections was idle for so long that conntrack forgot it:
// nobody has closed it, and both ends may believe in it. What one side has closed is not missed, nor is UDP, every packet of
// which is counted.
func (s *sweep) expired(was entry) {
	if was.halfClosed || was.usage.tuple.Protocol == udp {
		return
	}
	s.lost(was.usage, Loss{v1alpha1.GapVanished, "conntrack forgot idle connections to " + was.usage.tuple.String()})
}

// lost begins the coverage of one tuple anew.
func (s *sweep) lost(u *usage, why Loss) {
	if u.since.Equal(s.now) {
		return
	}
	u.since = s.now
	s.note(s.now, why)
}

// count takes packets in that neither entries nor events explain.
func (s *sweep) count(t Tuple, u *usage, c Count) {
	before := u.counted
	u.counted = &c
	switch {
	case before == nil:
		return
	case c.Packets < before.Packets || c.Attempts < before.Attempts:
		s.lost(u, Loss{v1alpha1.GapCounters, "the counters of " + t.String() + " were reset"})
		return
	}
	packets, attempts := c.Packets-before.Packets, c.Attempts-before.Attempts
	switch {
	case t.Protocol == udp:
		if packets > 0 {
			u.lastNew = s.now
		}
		return
	case attempts > 0:
		u.lastAttempt = s.now
	}
	// Without events nobody says that an attempt was in vain. And packets of a connection that conntrack does not know are
	// use all the same: replies may go another way, or the entry was lost.
	if attempts > 0 && !s.has(v1alpha1.SignalEvents) || packets > attempts && !s.talked[u] {
		u.lastNew = s.now
	}
}
