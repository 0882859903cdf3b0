package agent

import (
	"encoding/binary"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"offramp.dev/api/v1alpha1"
)

// table is a conntrack table that says how it was asked.
type table struct {
	flows  map[pair]Flow
	listed int
	looked int
	refuse error
}

func (b *table) add(f Flow) Event {
	b.flows[f.pair()] = f
	return begun(f)
}

func (b *table) list(watched map[Tuple]bool) ([]Flow, error) {
	b.listed++
	var out []Flow
	for p, f := range b.flows {
		if watched[p.tuple] {
			out = append(out, f)
		}
	}
	return out, b.refuse
}

func (b *table) lookUp(wanted map[pair]bool) ([]Flow, error) {
	b.looked++
	var out []Flow
	for p := range wanted {
		if f, ok := b.flows[p]; ok {
			out = append(out, f)
		}
	}
	return out, b.refuse
}

// settled is a roll that relies on events, over a table with one connection.
func settled(t *testing.T) (*roll, *table) {
	t.Helper()
	b := &table{flows: map[pair]Flow{}}
	l := &roll{list: b.list, lookUp: b.lookUp}
	b.add(flow(web, 1, nil))
	for range settledAfter {
		read(t, l, watchedSet(web, dns))
	}
	if b.listed != settledAfter || b.looked != 0 {
		t.Fatalf("listed %d times and looked up %d times before events are relied on", b.listed, b.looked)
	}
	return l, b
}

// read sweeps with those events.
func read(t *testing.T, l *roll, watched map[Tuple]bool, events ...Event) []Flow {
	t.Helper()
	r := happened(events...)
	for _, e := range events {
		if !e.Ended {
			l.attempts[e.Flow.Tuple]++ // as the counters of happened stay at zero
		}
	}
	flows, lost, err := l.read(&r, watched)
	if err != nil || lost != "" {
		t.Fatalf("lost %q, error %v", lost, err)
	}
	return flows
}

func TestOnceTheTableIsKnownOnlyWhatMayStandIsLookedUp(t *testing.T) {
	t.Parallel()
	l, b := settled(t)
	for i, step := range []struct {
		events []Event
		stand  int
	}{
		{nil, 1},
		{[]Event{b.add(flow(web, 2, nil)), b.add(flow(dns, 3, nil))}, 3},
		{[]Event{ended(flow(web, 2, closes))}, 2},
	} {
		if got := read(t, l, watchedSet(web, dns), step.events...); len(got) != step.stand {
			t.Errorf("sweep %d: %d stand, want %d", i, len(got), step.stand)
		}
	}
	if b.listed != settledAfter || b.looked != 3 {
		t.Errorf("listed %d times, looked up %d times", b.listed, b.looked)
	}
}

func TestTheTableIsListedWhereverEventsMayNotTellEverything(t *testing.T) {
	t.Parallel()
	zoned := flow(web, 9, func(f *Flow) { f.zoned = true })
	for name, c := range map[string]struct {
		watched map[Tuple]bool
		reading Reading
	}{
		"something was lost":       {reading: quiet(func(r *Reading) { r.Losses = []Loss{{Reason: v1alpha1.GapEvents}} })},
		"there are no events":      {reading: without(v1alpha1.SignalEvents, quiet(nil))},
		"there are no counters":    {reading: without(v1alpha1.SignalCounters, quiet(nil))},
		"another tuple is watched": {watched: watchedSet(web, dns, other), reading: quiet(nil)},
		"one is in a zone":         {reading: happened(begun(zoned))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, b := settled(t)
			watched := c.watched
			if watched == nil {
				watched = watchedSet(web, dns)
			}
			if _, _, err := l.read(&c.reading, watched); err != nil || b.listed != settledAfter+1 {
				t.Errorf("listed %d times, error %v", b.listed, err)
			}
		})
	}
}

func TestAZoneKeepsTheTableListedAsLongAsAConnectionStandsInIt(t *testing.T) {
	t.Parallel()
	l, b := settled(t)
	zoned := flow(web, 9, func(f *Flow) { f.zoned = true })
	read(t, l, watchedSet(web, dns), b.add(zoned))
	read(t, l, watchedSet(web, dns))
	delete(b.flows, zoned.pair())
	read(t, l, watchedSet(web, dns), ended(zoned))
	if b.looked != 0 || b.listed != settledAfter+3 {
		t.Fatalf("listed %d times, looked up %d times", b.listed, b.looked)
	}
	if read(t, l, watchedSet(web, dns)); b.looked != 1 {
		t.Error("still listed after it ended")
	}
}

func TestTheTableIsListedNowAndThenAndSoonWhereAttemptsHaveNoEvent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		attempts uint64
		sweeps   int
	}{"quiet": {0, relistAfter}, "an attempt without an event": {1, doubtAfter}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, b := settled(t)
			for i := 1; b.listed == settledAfter && i <= 2*relistAfter; i++ {
				r := counted(web, c.attempts, c.attempts)
				if _, _, err := l.read(&r, watchedSet(web, dns)); err != nil {
					t.Fatal(err)
				}
				if listed := b.listed > settledAfter; listed != (i == c.sweeps) {
					t.Fatalf("sweep %d: listed %t, want sweep %d", i, listed, c.sweeps)
				}
			}
		})
	}
}

func TestAConnectionOfWhichNoEventToldIsALossUnlessItsEventIsOnlyLate(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"no event": false, "a late event": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, b := settled(t)
			silent := b.add(flow(web, 2, nil))
			for range relistAfter {
				read(t, l, watchedSet(web, dns))
			}
			if b.listed != settledAfter+1 {
				t.Fatalf("listed %d times", b.listed)
			}
			r := quiet(nil)
			if late {
				r.Events = []Event{silent}
			}
			flows, lost, err := l.read(&r, watchedSet(web, dns))
			if (lost == "") != late || err != nil || len(flows) != 2 {
				t.Errorf("lost %q, error %v, %d flows", lost, err, len(flows))
			}
			if again := b.listed == settledAfter+2; again == late {
				t.Errorf("listed %d times: what events do not tell is listed again", b.listed)
			}
		})
	}
}

func TestALookupThatFailsIsReplacedByAListingAndAListingThatFailsIsAnError(t *testing.T) {
	t.Parallel()
	l, b := settled(t)
	no := errors.New("no")
	l.lookUp = func(map[pair]bool) ([]Flow, error) { return nil, no }
	if got := read(t, l, watchedSet(web, dns)); len(got) != 1 || b.listed != settledAfter+1 {
		t.Errorf("%d flows, listed %d times", len(got), b.listed)
	}
	b.refuse = no
	r := quiet(nil)
	if flows, _, err := l.read(&r, watchedSet(web, dns)); !errors.Is(err, no) || flows != nil || l.known != nil {
		t.Errorf("%v, error %v; still known: %v", flows, err, l.known)
	}
}

func TestATupleThatIsNotWatchedAnyMoreIsForgottenAndListedWhenItComesBack(t *testing.T) {
	t.Parallel()
	l, b := settled(t)
	if got := read(t, l, watchedSet(dns)); len(got) != 0 {
		t.Errorf("%v", got)
	}
	if got := read(t, l, watchedSet(web, dns)); len(got) != 1 || b.listed != settledAfter+1 {
		t.Errorf("%d flows, listed %d times", len(got), b.listed)
	}
}

func TestAQuestionReadsBackAsTheEntryItAsksFor(t *testing.T) {
	t.Parallel()
	for _, p := range []pair{
		{web, peer(4711)},
		{Tuple{Address: netip.MustParseAddr("2001:db8::10"), Port: 65535, Protocol: sctp}, netip.MustParseAddrPort("[2001:db8::1]:65535")},
	} {
		var q inquiry
		q.add(p)
		if f, ok, err := decode(q.questions[unix.NLMSG_HDRLEN:], anything); !ok || err != nil || f.pair() != p {
			t.Errorf("%+v became %+v, %t, %v", p, f, ok, err)
		}
		if n := binary.NativeEndian.Uint32(q.questions); int(n) != len(q.questions) || n > maxQuestion {
			t.Errorf("%d bytes, and the header says %d", len(q.questions), n)
		}
	}
}

func TestAnAnswerIsTakenOnlyForTheEntryThatWasAskedFor(t *testing.T) {
	t.Parallel()
	gone := binary.NativeEndian.AppendUint32(nil, ^uint32(unix.ENOENT)+1)
	full := binary.NativeEndian.AppendUint32(nil, ^uint32(unix.ENOBUFS)+1)
	entry := func(f Flow) []byte { return encodeFlow(t, f, statusSeenReply, 3) }
	for name, c := range map[string]struct {
		kind  uint16
		seq   uint32
		data  []byte
		found int
		fails bool
	}{
		"it stands":                      {data: entry(flow(web, 1, nil)), found: 1},
		"it is gone":                     {kind: unix.NLMSG_ERROR, data: gone},
		"another client":                 {data: entry(flow(web, 2, nil))},
		"another tuple":                  {data: entry(flow(other, 1, nil))},
		"the kernel has no room":         {kind: unix.NLMSG_ERROR, data: full, fails: true},
		"an acknowledgment is no answer": {kind: unix.NLMSG_ERROR, data: make([]byte, 4), fails: true},
		"a question that nobody asked":   {seq: 1, data: entry(flow(web, 1, nil)), fails: true},
		"nonsense":                       {data: []byte{2, 0, 0, 0, 200, 0, 1, 0}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := inquiry{pairs: []pair{{web, peer(1)}}}
			m := syscall.NetlinkMessage{Header: syscall.NlMsghdr{Type: c.kind, Seq: c.seq}, Data: c.data}
			if err := q.take(&m); (err != nil) != c.fails || len(q.found) != c.found {
				t.Errorf("%d found, error %v", len(q.found), err)
			}
		})
	}
}

// TestATableAndARollNeverDisagree walks at random: whatever happens, the roll gives what stands.
func TestATableAndARollNeverDisagree(t *testing.T) {
	t.Parallel()
	l, b := settled(t)
	watched := watchedSet(web, dns)
	for i := range 3000 {
		var events []Event
		f := flow([]Tuple{web, dns, other}[i%3], uint16(i*i%37), nil)
		if _, stands := b.flows[f.pair()]; stands {
			delete(b.flows, f.pair())
			events = append(events, ended(f))
		} else {
			events = append(events, b.add(f))
		}
		switch i % 50 {
		case 7:
			watched = watchedSet(web)
		case 20:
			watched = watchedSet(web, dns, other)
		}
		events = slices.DeleteFunc(events, func(e Event) bool { return !watched[e.Flow.Tuple] })
		got := map[pair]Flow{}
		for _, f := range read(t, l, maps.Clone(watched), events...) {
			got[f.pair()] = f
		}
		want := maps.Clone(b.flows)
		maps.DeleteFunc(want, func(p pair, _ Flow) bool { return !watched[p.tuple] })
		if !maps.Equal(got, want) {
			t.Fatalf("step %d: %d stand, want %d", i, len(got), len(want))
		}
	}
	if b.looked == 0 || b.listed > b.looked/2 {
		t.Errorf("listed %d times, looked up %d times", b.listed, b.looked)
	}
}

func TestALossNamesHowManyConnectionsWereNotTold(t *testing.T) {
	t.Parallel()
	l := &roll{suspects: map[pair]bool{{web, peer(1)}: true}}
	if r := quiet(nil); !strings.Contains(l.follow(&r), "1 connection") {
		t.Error("it does not")
	}
}
