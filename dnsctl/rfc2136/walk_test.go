package rfc2136_test

import (
	"net/netip"
	"reflect"
	"testing"
	"time"

	"offramp.dev/dnsctl"
	"offramp.dev/dnsctl/rfc2136"
	"offramp.dev/dnsctl/rfc2136/bindtest"
)

// walker takes two names of one zone through a whole shift at a real server.
type walker struct {
	*testing.T
	client *rfc2136.Client
	zone   dnsctl.Zone
	names  []dnsctl.Name
	// intents so far: the sequence of the next mark.
	intents int
}

var (
	percents = []int32{10, 25, 50, 100}
	anchor   = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

func newWalker(t *testing.T) *walker {
	t.Helper()
	s := bindtest.Start(t, bindtest.Options{Records: []string{
		"www 3600 IN A 192.0.2.9", "www 3600 IN A 192.0.2.10", "www 600 IN AAAA 2001:db8::10", "* 20 IN A 192.0.2.10",
	}})
	w := &walker{T: t, client: client(keyOf(s.Key)), zone: zoneAt(s.Address)}
	old := []netip.Addr{netip.MustParseAddr("192.0.2.10"), netip.MustParseAddr("2001:db8::10")}
	fresh := []netip.Addr{netip.MustParseAddr("198.51.100.20"), netip.MustParseAddr("2001:db8::20")}
	for _, name := range []string{www, "*.example.test"} {
		n := dnsctl.Name{Name: name, Zone: w.zone.Object, Snapshot: w.look(name).Records, Old: old, New: fresh, LowTTL: 30}
		if err := n.Validate(); err != nil {
			t.Fatal(err)
		}
		w.names = append(w.names, n)
	}
	return w
}

func (w *walker) look(name string) dnsctl.Answer {
	w.Helper()
	a, err := w.client.Query(w.Context(), w.zone, w.zone.Primary, name)
	if err != nil {
		w.Fatal(err)
	}
	return a
}

// write brings both names to what the schedule of the step says at now, in one update, and checks that it is so.
func (w *walker) write(step dnsctl.Step, now time.Time) {
	w.Helper()
	mark := dnsctl.Mark{Owner: "shop-web-1", Sequence: w.intents, Until: anchor.Add(90 * 24 * time.Hour)}
	if step == dnsctl.StepSnapshot {
		mark = dnsctl.Mark{}
	}
	var targets []dnsctl.Target
	for _, n := range w.names {
		targets = append(targets, dnsctl.Target{
			Zone: n.Zone, Name: n.Name, Current: w.look(n.Name), Owner: "shop-web-1",
			Wanted: n.Wanted(step, percents, anchor, now, true), Mark: mark,
		})
	}
	changes, err := dnsctl.Changes(targets)
	if err != nil {
		w.Fatal(err)
	}
	if err := w.client.Update(w.Context(), w.zone, changes); err != nil {
		w.Fatalf("step %d at %s: %v", step, now.Sub(anchor), err)
	}
	for i, target := range targets {
		got := w.look(target.Name)
		if !got.Records.Equal(target.Wanted) || !got.Mark.Equal(mark) {
			w.Fatalf("step %d: %s answers %s, mark %+v; want %s, mark %+v", step, w.names[i].Name, got.Records, got.Mark, target.Wanted, mark)
		}
	}
}

func (w *walker) intend(step dnsctl.Step) {
	w.Helper()
	w.intents++
	for slot := range 6 {
		w.write(step, anchor.Add(time.Duration(slot)*10*time.Second))
	}
}

// back goes to step 0 and to the snapshot, and wants the names exactly as they were.
func (w *walker) back() {
	w.Helper()
	w.intend(dnsctl.StepLowTTL)
	w.intend(dnsctl.StepSnapshot)
	for _, n := range w.names {
		want := dnsctl.Answer{Records: n.Snapshot}
		if got := w.look(n.Name); !reflect.DeepEqual(got, want) {
			w.Fatalf("%s answers %+v after the way back, want %+v", n.Name, got, want)
		}
	}
}

func TestAShiftGoesForwardAndBackFromEveryStepAtBIND(t *testing.T) {
	t.Parallel()
	w := newWalker(t)
	for last := dnsctl.StepLowTTL; int(last) <= len(percents)+1; last++ {
		for step := dnsctl.StepLowTTL; step <= last; step++ {
			w.intend(step)
		}
		if int(last) > len(percents) {
			w.wantsNew()
		}
		w.back()
	}
}

// wantsNew checks the end of the walk against plain literals.
func (w *walker) wantsNew() {
	w.Helper()
	want := dnsctl.RecordSet{A: rrset(3600, "192.0.2.9", "198.51.100.20"), AAAA: rrset(600, "2001:db8::20")}
	if got := w.look(www).Records; !got.Equal(want) {
		w.Fatalf("%s answers %s at the end, want %s", www, got, want)
	}
	want = dnsctl.RecordSet{A: rrset(20, "198.51.100.20")}
	if got := w.look("any.example.test").Records; !got.Equal(want) {
		w.Fatalf("a name under the wildcard answers %s at the end, want %s", got, want)
	}
}
