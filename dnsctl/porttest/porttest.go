// Package porttest holds every implementation of dnsctl.Port to the same promises: a real name server behind package
// rfc2136 and the zones of the embedded world answer these tests alike.
package porttest

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"offramp.dev/dnsctl"
)

// Zone is the apex that every test asks for.
const Zone = "example.test"

// New gives a fresh primary of zone with the given records by name (none of them marked), and how to reach it.
type New func(t *testing.T, zone string, initial map[string]dnsctl.RecordSet) (dnsctl.Port, dnsctl.Zone)

// www is the name that most tests move, www2 another one of the zone.
const (
	www  = "www." + Zone
	www2 = "www2." + Zone
)

// Run runs the suite as a subtest called name.
func Run(t *testing.T, name string, fresh func(t *testing.T, zone string, initial map[string]dnsctl.RecordSet) (dnsctl.Port, dnsctl.Zone)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		for _, c := range cases() {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.run(bed(t, fresh))
			})
		}
	})
}

type testCase struct {
	name string
	run  func(b *testbed)
}

func cases() []testCase {
	return slices.Concat(queryCases(), updateCases(), conflictCases(), markCases(), zoneCases())
}

// testbed is one test's port with the usual records.
type testbed struct {
	*testing.T
	port dnsctl.Port
	zone dnsctl.Zone
}

func bed(t *testing.T, fresh New) *testbed {
	t.Helper()
	port, zone := fresh(t, Zone, map[string]dnsctl.RecordSet{www: old(), www2: both()})
	return &testbed{T: t, port: port, zone: zone}
}

// old, both and others are the record sets of the tests.
func old() dnsctl.RecordSet {
	return dnsctl.RecordSet{A: set(3600, "192.0.2.10")}
}

func both() dnsctl.RecordSet {
	return dnsctl.RecordSet{A: set(300, "192.0.2.10", "192.0.2.20"), AAAA: set(600, "2001:db8::10")}
}

func moved() dnsctl.RecordSet {
	return dnsctl.RecordSet{A: set(30, "198.51.100.20", "192.0.2.10")}
}

func set(ttl uint32, addrs ...string) dnsctl.RRset {
	out := dnsctl.RRset{TTL: ttl}
	for _, a := range addrs {
		out.Addresses = append(out.Addresses, netip.MustParseAddr(a))
	}
	return out
}

func mark(owner string, sequence int) dnsctl.Mark {
	return dnsctl.Mark{Owner: owner, Sequence: sequence, Until: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)}
}

// change is of name, from one answer to another.
func (b *testbed) change(name string, before, after dnsctl.Answer) dnsctl.Change {
	return dnsctl.Change{Zone: b.zone.Object, Name: name, Before: before, After: after}
}

func answer(r dnsctl.RecordSet, m dnsctl.Mark) dnsctl.Answer {
	return dnsctl.Answer{Records: r, Mark: m}
}

func (b *testbed) must(changes ...dnsctl.Change) {
	b.Helper()
	if err := b.port.Update(b.Context(), b.zone, changes); err != nil {
		b.Fatalf("update: %v", err)
	}
}

// mustFail wants an *dnsctl.UpdateError of the class.
func (b *testbed) mustFail(class dnsctl.Class, changes ...dnsctl.Change) {
	b.Helper()
	err := b.port.Update(b.Context(), b.zone, changes)
	var failed *dnsctl.UpdateError
	if !errors.As(err, &failed) {
		b.Fatalf("update: got %v, want an UpdateError of class %s", err, class)
	}
	if failed.Class != class {
		b.Fatalf("update: class %s, want %s (%v)", failed.Class, class, err)
	}
}

func (b *testbed) look(name string) dnsctl.Answer {
	b.Helper()
	got, err := b.port.Query(b.Context(), b.zone, b.zone.Primary, name)
	if err != nil {
		b.Fatalf("query of %s: %v", name, err)
	}
	return got
}

// wants compares records, TTLs and mark.
func (b *testbed) wants(name string, want dnsctl.Answer) {
	b.Helper()
	got := b.look(name)
	if !got.Records.Equal(want.Records) || !got.Mark.Equal(want.Mark) || got.Foreign != "" {
		b.Fatalf("%s answers %s, mark %+v, foreign %q; want %s, mark %+v",
			name, got.Records, got.Mark, got.Foreign, want.Records, want.Mark)
	}
}

// race sends the changes at once and counts those that succeed; the others must be Changed.
func (b *testbed) race(changes []dnsctl.Change) int {
	b.Helper()
	errs := make([]error, len(changes))
	var wg sync.WaitGroup
	for i, c := range changes {
		wg.Go(func() { errs[i] = b.port.Update(b.Context(), b.zone, []dnsctl.Change{c}) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		var failed *dnsctl.UpdateError
		switch {
		case err == nil:
			won++
		case !errors.As(err, &failed) || failed.Class != dnsctl.ClassChanged:
			b.Errorf("a loser of the race got %v, want class %s", err, dnsctl.ClassChanged)
		}
	}
	return won
}

// rivals are n changes of the same name from the same state, each by another owner to another address.
func (b *testbed) rivals(n int) []dnsctl.Change {
	out := make([]dnsctl.Change, 0, n)
	for i := range n {
		to := dnsctl.RecordSet{A: set(30, fmt.Sprintf("198.51.100.%d", i+1))}
		out = append(out, b.change(www, answer(old(), dnsctl.Mark{}), answer(to, mark(fmt.Sprintf("owner-%d", i), 1))))
	}
	return out
}
