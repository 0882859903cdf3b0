package agent

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"offramp.dev/api/v1alpha1"
)

var (
	start = time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	web   = Tuple{Address: netip.MustParseAddr("203.0.113.10"), Port: 80, Protocol: tcp}
	other = Tuple{Address: netip.MustParseAddr("203.0.113.10"), Port: 81, Protocol: tcp}
	dns   = Tuple{Address: netip.MustParseAddr("203.0.113.10"), Port: 53, Protocol: udp}
	all   = []v1alpha1.Signal{v1alpha1.SignalCounters, v1alpha1.SignalEntries, v1alpha1.SignalEvents}
)

// minute is the time of a sweep: they are a minute apart.
func minute(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }

func peer(port uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr("198.51.100.7"), port)
}

// flow is a replied, open connection that would stand for an hour.
func flow(t Tuple, port uint16, edit func(*Flow)) Flow {
	f := Flow{Tuple: t, Client: peer(port), Replied: true, Left: time.Hour}
	if edit != nil {
		edit(&f)
	}
	return f
}

func halfOpen(f *Flow) { f.Replied = false }
func closes(f *Flow)   { f.Closing = true }
func half(f *Flow)     { f.HalfClosed = true }
func brief(f *Flow)    { f.Left = 30 * time.Second }

// quiet is a reading of all signals in which the tuples have counted nothing.
func quiet(edit func(*Reading)) Reading {
	r := Reading{Signals: all, Mode: v1alpha1.ProxyNFTables, Counts: map[Tuple]Count{web: {}, other: {}, dns: {}}}
	if edit != nil {
		edit(&r)
	}
	return r
}

func stands(flows ...Flow) Reading { return quiet(func(r *Reading) { r.Flows = flows }) }

func happened(events ...Event) Reading { return quiet(func(r *Reading) { r.Events = events }) }

func counted(t Tuple, packets, attempts uint64) Reading {
	return quiet(func(r *Reading) { r.Counts[t] = Count{packets, attempts} })
}

// without leaves a signal out.
func without(signal v1alpha1.Signal, r Reading) Reading {
	r.Signals = slices.DeleteFunc(slices.Clone(r.Signals), func(s v1alpha1.Signal) bool { return s == signal })
	return r
}

// begun and ended are events.
func begun(f Flow) Event { return Event{Flow: f} }
func ended(f Flow) Event { return Event{Flow: f, Ended: true} }

func watchedSet(tuples ...Tuple) map[Tuple]bool {
	out := map[Tuple]bool{}
	for _, t := range tuples {
		out[t] = true
	}
	return out
}

// observe takes the readings in, a minute apart, and gives the last report.
func observe(readings ...Reading) v1alpha1.ObservationStatus {
	o := NewObserver(Identity{Node: "n1", BootID: "b1", StaleAfter: 60})
	var now time.Time
	for i, r := range readings {
		now = minute(i)
		o.Sweep(now, "w", watchedSet(web, other, dns), r)
	}
	return o.Status(now)
}

func rowOf(s v1alpha1.ObservationStatus, t Tuple) v1alpha1.TupleTraffic {
	for _, r := range s.Traffic {
		if r.Address == t.Address.String() && r.Port == t.Port && r.Protocol == t.Protocol {
			return r
		}
	}
	return v1alpha1.TupleTraffic{}
}

// never is a time that is not there.
const never = -1

func isMinute(at *metav1.Time, n int) bool {
	if n == never || at == nil {
		return n == never && at == nil
	}
	return at.Time.Equal(minute(n))
}

func TestWhatAReadingSaysOfATuple(t *testing.T) {
	t.Parallel()
	held := flow(web, 1, nil)
	for name, c := range map[string]struct {
		of                           Tuple
		readings                     []Reading
		established, halfOpen        int64
		translated                   int64
		lastNew, lastAttempt, rSince int
	}{
		"nothing happened": {of: web, readings: []Reading{quiet(nil), quiet(nil)}, lastNew: never, lastAttempt: never, rSince: never},
		"a connection that is held counts once, and is new only in the sweep it first stood in": {
			of: web, readings: []Reading{stands(held), stands(held), stands(held)}, established: 1, lastNew: 0, lastAttempt: 0, rSince: never,
		},
		"a second connection is new later": {
			of: web, readings: []Reading{stands(held), stands(held, flow(web, 2, nil))}, established: 2, lastNew: 1, lastAttempt: 1, rSince: never,
		},
		"an attempt that nobody answers is shown, and is neither new nor established": {
			of: web, readings: []Reading{quiet(nil), stands(flow(web, 3, halfOpen))}, halfOpen: 1, lastNew: never, lastAttempt: 1, rSince: never,
		},
		"an attempt that is answered later is new when it is": {
			of: web, readings: []Reading{quiet(nil), stands(flow(web, 3, halfOpen)), stands(flow(web, 3, nil))}, established: 1, lastNew: 2, lastAttempt: 1, rSince: never,
		},
		"a closing connection is not established": {
			of: web, readings: []Reading{stands(held), stands(flow(web, 1, closes))}, lastNew: 0, lastAttempt: 0, rSince: never,
		},
		"a connection that opened and closed between two sweeps is new": {
			of: web, readings: []Reading{quiet(nil), happened(begun(flow(web, 4, halfOpen)), ended(flow(web, 4, closes)))}, lastNew: 1, lastAttempt: 1, rSince: never,
		},
		"an attempt that came and went between two sweeps is shown": {
			of: web, readings: []Reading{quiet(nil), happened(begun(flow(web, 4, halfOpen)), ended(flow(web, 4, halfOpen)))}, lastNew: never, lastAttempt: 1, rSince: never,
		},
		"the end of a connection that stood is not a new one": {
			of: web, readings: []Reading{stands(held), happened(ended(flow(web, 1, closes)))}, lastNew: 0, lastAttempt: 0, rSince: never,
		},
		"a client that takes the same port again has another connection": {
			of: web, readings: []Reading{
				stands(held),
				quiet(func(r *Reading) {
					r.Flows, r.Events = []Flow{held}, []Event{ended(flow(web, 1, closes)), begun(flow(web, 1, halfOpen))}
				}),
			}, established: 1, lastNew: 1, lastAttempt: 1, rSince: never,
		},
		"an entry of another conntrack zone is the same connection": {
			of: web, readings: []Reading{stands(held, held)}, established: 1, lastNew: 0, lastAttempt: 0, rSince: never,
		},
		"an entry that vanished still stands for one sweep": {
			of: web, readings: []Reading{stands(held), quiet(nil)}, established: 1, lastNew: 0, lastAttempt: 0, rSince: never,
		},
		"an entry that vanished is a gap of its tuple": {
			of: web, readings: []Reading{stands(held), quiet(nil), quiet(nil)}, lastNew: 0, lastAttempt: 0, rSince: 2,
		},
		"an entry that was flushed, with an event, is a gap of its tuple": {
			of: web, readings: []Reading{stands(held), happened(ended(held)), quiet(nil)}, lastNew: 0, lastAttempt: 0, rSince: 2,
		},
		"an entry whose end is known only after a sweep is no gap": {
			of: web, readings: []Reading{stands(held), quiet(nil), happened(ended(flow(web, 1, closes)))}, lastNew: 0, lastAttempt: 0, rSince: never,
		},
		"an idle connection that conntrack forgot is a gap of its tuple": {
			of: web, readings: []Reading{stands(flow(web, 1, brief)), quiet(nil), quiet(nil)}, lastNew: 0, lastAttempt: 0, rSince: 1,
		},
		"a half-closed connection that came to its end by itself is no gap": {
			of: web, readings: []Reading{stands(flow(web, 1, func(f *Flow) { brief(f); half(f) })), quiet(nil), quiet(nil)},
			lastNew: 0, lastAttempt: 0, rSince: never,
		},
		"a udp entry that came to its end by itself is no gap": {
			of: dns, readings: []Reading{stands(flow(dns, 1, brief)), quiet(nil), quiet(nil)}, lastNew: 0, lastAttempt: never, rSince: never,
		},
		"a source that the node replaces is shown": {
			of: web, readings: []Reading{stands(flow(web, 1, func(f *Flow) { f.Translated = true }), flow(web, 2, nil))},
			established: 2, translated: 1, lastNew: 0, lastAttempt: 0, rSince: never,
		},
		"a udp entry is use in every sweep": {
			of: dns, readings: []Reading{stands(flow(dns, 5, nil)), stands(flow(dns, 5, nil))}, established: 1, lastNew: 1, lastAttempt: never, rSince: never,
		},
		"a udp packet without an entry is use": {
			of: dns, readings: []Reading{quiet(nil), counted(dns, 1, 0), counted(dns, 1, 0)}, lastNew: 1, lastAttempt: never, rSince: never,
		},
		"a refused attempt is counted before conntrack, and shown": {
			of: web, readings: []Reading{quiet(nil), counted(web, 3, 3)}, lastNew: never, lastAttempt: 1, rSince: never,
		},
		"packets of a connection that conntrack does not know are use": {
			of: web, readings: []Reading{quiet(nil), counted(web, 5, 1)}, lastNew: 1, lastAttempt: 1, rSince: never,
		},
		"packets of a connection that stands are not new": {
			of: web, readings: []Reading{stands(held), quiet(func(r *Reading) { r.Flows, r.Counts[web] = []Flow{held}, Count{9, 0} })},
			established: 1, lastNew: 0, lastAttempt: 0, rSince: never,
		},
		"packets of a connection that has just ended are not new": {
			of: web, readings: []Reading{stands(held), quiet(func(r *Reading) {
				r.Events, r.Counts[web] = []Event{ended(flow(web, 1, closes))}, Count{9, 0}
			})}, lastNew: 0, lastAttempt: 0, rSince: never,
		},
		"without events an attempt may have been answered": {
			of: web, readings: []Reading{without(v1alpha1.SignalEvents, quiet(nil)), without(v1alpha1.SignalEvents, counted(web, 1, 1))},
			lastNew: 1, lastAttempt: 1, rSince: never,
		},
		"without entries every packet may belong to a connection": {
			of: web, readings: []Reading{without(v1alpha1.SignalEntries, quiet(nil)), without(v1alpha1.SignalEntries, counted(web, 1, 0))},
			lastNew: 1, lastAttempt: never, rSince: never,
		},
		"counters that somebody reset are a gap of their tuple": {
			of: web, readings: []Reading{counted(web, 5, 5), counted(web, 1, 1)}, lastNew: never, lastAttempt: never, rSince: 1,
		},
		"what was counted before the first look is not new": {
			of: web, readings: []Reading{counted(web, 500, 5), counted(web, 500, 5)}, lastNew: never, lastAttempt: never, rSince: never,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := observe(c.readings...)
			r := rowOf(s, c.of)
			if r.Established != c.established || r.HalfOpen != c.halfOpen || r.Translated != c.translated {
				t.Errorf("established %d, half open %d, translated %d", r.Established, r.HalfOpen, r.Translated)
			}
			if !isMinute(r.LastNew, c.lastNew) || !isMinute(r.LastAttempt, c.lastAttempt) || !isMinute(r.Since, c.rSince) {
				t.Errorf("last new %v, last attempt %v, since %v", r.LastNew, r.LastAttempt, r.Since)
			}
			if !s.CoverageSince.Time.Equal(start) {
				t.Errorf("the node's coverage begins at %s", s.CoverageSince)
			}
		})
	}
}

func TestAGapBeginsTheCoverageOfTheNodeAnew(t *testing.T) {
	t.Parallel()
	held := flow(web, 1, nil)
	for name, c := range map[string]struct {
		reading Reading
		reason  v1alpha1.GapReason
	}{
		"the table of counters was flushed": {
			quiet(func(r *Reading) { r.Losses = []Loss{{v1alpha1.GapCounters, "gone"}} }), v1alpha1.GapCounters,
		},
		"events were lost": {
			quiet(func(r *Reading) { r.Losses = []Loss{{v1alpha1.GapEvents, "full"}} }), v1alpha1.GapEvents,
		},
		"a signal was lost": {without(v1alpha1.SignalEntries, quiet(nil)), v1alpha1.GapSignals},
		"a program may take packets": {
			quiet(func(r *Reading) { r.Blind = []v1alpha1.BlindSpot{{Reason: v1alpha1.BlindXDP}} }), v1alpha1.GapDatapath,
		},
		"the node serves in another way": {quiet(func(r *Reading) { r.Mode = v1alpha1.ProxyIPTables }), v1alpha1.GapDatapath},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := observe(stands(held), stands(held), c.reading)
			if !s.CoverageSince.Time.Equal(minute(2)) || len(s.Traffic) != 0 {
				t.Errorf("coverage since %s, rows %+v", s.CoverageSince, s.Traffic)
			}
			if n := len(s.Gaps); n != 2 || s.Gaps[0].Reason != v1alpha1.GapStarted || s.Gaps[1].Reason != c.reason || !s.Gaps[1].Until.Time.Equal(minute(2)) {
				t.Errorf("gaps %+v", s.Gaps)
			}
		})
	}
}

func TestASignalThatComesBackIsAGapToo(t *testing.T) {
	t.Parallel()
	s := observe(quiet(nil), without(v1alpha1.SignalCounters, quiet(nil)), quiet(nil), quiet(nil))
	if !s.CoverageSince.Time.Equal(minute(2)) || !slices.Equal(s.Signals, all) {
		t.Errorf("coverage since %s of %v", s.CoverageSince, s.Signals)
	}
}

func TestATupleThatJoinsTakesNothingFromThoseThatStay(t *testing.T) {
	t.Parallel()
	o := NewObserver(Identity{})
	held := flow(web, 1, nil)
	o.Sweep(minute(0), "a", watchedSet(web), stands(held))
	o.Sweep(minute(1), "b", watchedSet(web, other), stands(held))
	s := o.Status(minute(1))
	if !s.CoverageSince.Time.Equal(minute(0)) || s.Watched != "b" {
		t.Errorf("coverage since %s of %s", s.CoverageSince, s.Watched)
	}
	if r := rowOf(s, web); r.Since != nil || !isMinute(r.LastNew, 0) {
		t.Errorf("the tuple that stayed: %+v", r)
	}
	if r := rowOf(s, other); !isMinute(r.Since, 1) || r.LastNew != nil {
		t.Errorf("the tuple that joined: %+v", r)
	}
}

func TestATupleThatLeftAndCameBackBeginsAnew(t *testing.T) {
	t.Parallel()
	o := NewObserver(Identity{})
	for i, set := range []map[Tuple]bool{watchedSet(web, other), watchedSet(web), watchedSet(web, other)} {
		o.Sweep(minute(i), "w", set, quiet(nil))
	}
	if r := rowOf(o.Status(minute(2)), other); !isMinute(r.Since, 2) {
		t.Errorf("%+v", r)
	}
}

func TestTimesAreRoundedUpToWhatTheAPIStores(t *testing.T) {
	t.Parallel()
	o := NewObserver(Identity{})
	o.Sweep(start.Add(time.Millisecond), "w", watchedSet(web), stands(flow(web, 1, nil)))
	s := o.Status(start)
	if want := start.Add(time.Second); !s.CoverageSince.Time.Equal(want) || !rowOf(s, web).LastNew.Time.Equal(want) {
		t.Errorf("coverage since %s, last new %s", s.CoverageSince, rowOf(s, web).LastNew)
	}
}

func manyTuples(n int32) map[Tuple]bool {
	out := map[Tuple]bool{}
	for port := int32(1); port <= n; port++ {
		out[Tuple{Address: web.Address, Port: port, Protocol: tcp}] = true
	}
	return out
}

func TestTooManyRowsInUseAreOverflow(t *testing.T) {
	t.Parallel()
	o, set := NewObserver(Identity{}), manyTuples(maxRows+1)
	r := quiet(nil)
	for tuple := range set {
		r.Flows = append(r.Flows, flow(tuple, 1, nil))
	}
	o.Sweep(start, "a", set, r)
	if s := o.Status(start); !s.Overflow || len(s.Traffic) != maxRows {
		t.Errorf("overflow %t, rows %d", s.Overflow, len(s.Traffic))
	}
}

func TestTooManyTuplesThatJoinCostTheOthersTheirCoverageAndAreNoOverflow(t *testing.T) {
	t.Parallel()
	o, set := NewObserver(Identity{}), manyTuples(maxRows+1)
	o.Sweep(minute(0), "a", watchedSet(dns), quiet(nil))
	set[dns] = true
	o.Sweep(minute(1), "b", set, quiet(nil))
	s := o.Status(minute(1))
	if s.Overflow || len(s.Traffic) != 0 || !s.CoverageSince.Time.Equal(minute(1)) {
		t.Errorf("overflow %t, rows %d, coverage since %s", s.Overflow, len(s.Traffic), s.CoverageSince)
	}
	if last := s.Gaps[len(s.Gaps)-1]; last.Reason != v1alpha1.GapTuples {
		t.Errorf("gap %+v", last)
	}
}

func TestGapsAreFewAndShort(t *testing.T) {
	t.Parallel()
	var readings []Reading
	for range 2 * maxGaps {
		readings = append(readings,
			quiet(func(r *Reading) { r.Losses = []Loss{{v1alpha1.GapEvents, strings.Repeat("é", maxMessage)}} }),
			quiet(func(r *Reading) { r.Losses = []Loss{{v1alpha1.GapCounters, "gone"}} }))
	}
	s := observe(readings...)
	if len(s.Gaps) != maxGaps {
		t.Errorf("%d gaps", len(s.Gaps))
	}
	for _, g := range s.Gaps {
		if len(g.Message) > maxMessage {
			t.Errorf("a message of %d bytes", len(g.Message))
		}
	}
}

func TestAGapThatComesAgainAndAgainIsOneLine(t *testing.T) {
	t.Parallel()
	lost := quiet(func(r *Reading) { r.Losses = []Loss{{v1alpha1.GapEvents, "full"}} })
	s := observe(quiet(nil), lost, lost, lost)
	if len(s.Gaps) != 2 || !s.Gaps[1].Until.Time.Equal(minute(3)) {
		t.Errorf("%+v", s.Gaps)
	}
}

func TestAModeThatSomebodySaidIsBelieved(t *testing.T) {
	t.Parallel()
	o := NewObserver(Identity{ProxyMode: v1alpha1.ProxyIPTables})
	o.Sweep(start, "w", nil, quiet(nil))
	if s := o.Status(start); s.ProxyMode != v1alpha1.ProxyIPTables {
		t.Errorf("mode %q", s.ProxyMode)
	}
}
