package porttest

import (
	"context"
	"reflect"

	"offramp.dev/dnsctl"
)

func queryCases() []testCase {
	return []testCase{
		{"a query answers records and TTLs, and no mark where none is", func(b *testbed) {
			b.wants(www, answer(old(), dnsctl.Mark{}))
			b.wants(www2, answer(both(), dnsctl.Mark{}))
		}},
		{"addresses come sorted", func(b *testbed) {
			got := b.look(www2).Records.A.Addresses
			if !reflect.DeepEqual(got, both().A.Addresses) {
				b.Fatalf("addresses %v, want %v", got, both().A.Addresses)
			}
		}},
		{"a name that does not exist is an empty answer, not an error", func(b *testbed) {
			if got := b.look("absent." + Zone); !reflect.DeepEqual(got, dnsctl.Answer{}) {
				b.Fatalf("got %+v, want the zero answer", got)
			}
		}},
		{"a server that does not answer is an error", func(b *testbed) {
			if got, err := b.port.Query(b.Context(), b.zone, "127.0.0.1:1", www); err == nil {
				b.Fatalf("got %+v, want an error", got)
			}
		}},
		{"a query whose context is over is an error", func(b *testbed) {
			ctx, cancel := context.WithCancel(b.Context())
			cancel()
			if got, err := b.port.Query(ctx, b.zone, b.zone.Primary, www); err == nil {
				b.Fatalf("got %+v, want an error", got)
			}
		}},
		{"a name outside the zone cannot be queried", func(b *testbed) {
			if got, err := b.port.Query(b.Context(), b.zone, b.zone.Primary, "www.elsewhere.test"); err == nil {
				b.Fatalf("got %+v, want an error", got)
			}
		}},
	}
}

func updateCases() []testCase {
	return []testCase{
		{"an update replaces records and TTL and leaves the mark", func(b *testbed) {
			after := answer(moved(), mark("shop-1", 3))
			b.must(b.change(www, answer(old(), dnsctl.Mark{}), after))
			b.wants(www, after)
			b.wants(www2, answer(both(), dnsctl.Mark{}))
		}},
		{"the way back restores the old TTL and takes the mark away", func(b *testbed) {
			there, home := answer(moved(), mark("shop-1", 3)), answer(old(), dnsctl.Mark{})
			b.must(b.change(www, home, there))
			b.must(b.change(www, there, home))
			b.wants(www, home)
		}},
		{"a change of TTL alone is applied to both families", func(b *testbed) {
			low := both()
			low.A.TTL, low.AAAA.TTL = 30, 20
			b.must(b.change(www2, answer(both(), dnsctl.Mark{}), answer(low, mark("shop-1", 0))))
			b.wants(www2, answer(low, mark("shop-1", 0)))
		}},
		{"a change of the mark alone is applied", func(b *testbed) {
			first, second := answer(old(), mark("shop-1", 1)), answer(old(), mark("shop-1", 2))
			second.Mark.Until = second.Mark.Until.AddDate(0, 0, 1)
			b.must(b.change(www, answer(old(), dnsctl.Mark{}), first))
			b.must(b.change(www, first, second))
			b.wants(www, second)
		}},
		{"the TTL found is no prerequisite", func(b *testbed) {
			before := old()
			before.A.TTL = 77
			b.must(b.change(www, answer(before, dnsctl.Mark{}), answer(moved(), mark("shop-1", 1))))
			b.wants(www, answer(moved(), mark("shop-1", 1)))
		}},
		{"the order of addresses is no prerequisite", func(b *testbed) {
			before := both()
			before.A = set(300, "192.0.2.20", "192.0.2.10")
			b.must(b.change(www2, answer(before, dnsctl.Mark{}), answer(moved(), mark("shop-1", 1))))
			b.wants(www2, answer(moved(), mark("shop-1", 1)))
		}},
		{"a name is made and taken away again", func(b *testbed) {
			none, some := answer(dnsctl.RecordSet{}, dnsctl.Mark{}), answer(moved(), dnsctl.Mark{})
			b.must(b.change("fresh."+Zone, none, some))
			b.wants("fresh."+Zone, some)
			b.must(b.change("fresh."+Zone, some, none))
			b.wants("fresh."+Zone, none)
		}},
		{"an update without changes does nothing", func(b *testbed) {
			b.must()
			b.wants(www, answer(old(), dnsctl.Mark{}))
		}},
		{"what the caller hands over stays as it was", func(b *testbed) {
			made := func() dnsctl.Change {
				return b.change(www2, answer(both(), dnsctl.Mark{}), answer(moved(), mark("shop-1", 1)))
			}
			c := made()
			b.must(c)
			if !reflect.DeepEqual(c, made()) {
				b.Fatalf("the change is now %+v", c)
			}
		}},
	}
}

func conflictCases() []testCase {
	none := dnsctl.Mark{}
	wanted := answer(moved(), mark("shop-1", 1))
	stale := func(name string, actual, believed dnsctl.RecordSet) func(b *testbed) {
		return func(b *testbed) {
			b.mustFail(dnsctl.ClassChanged, b.change(name, answer(believed, none), wanted))
			b.wants(name, answer(actual, none))
		}
	}
	return []testCase{
		{"another address than the one looked at fails", stale(www, old(), dnsctl.RecordSet{A: set(3600, "192.0.2.11")})},
		{"more addresses than those looked at fail", stale(www2, both(), dnsctl.RecordSet{A: set(300, "192.0.2.10"), AAAA: both().AAAA})},
		{"fewer addresses than those looked at fail", stale(www, old(), dnsctl.RecordSet{A: both().A})},
		{"a family that was not there when looked at fails", stale(www2, both(), dnsctl.RecordSet{A: both().A})},
		{"a family that is gone since the look fails", stale(www, old(), dnsctl.RecordSet{A: old().A, AAAA: both().AAAA})},
		{"a name that should be absent and is not fails", stale(www, old(), dnsctl.RecordSet{})},
		{"a name that should be there and is absent fails", stale("absent."+Zone, dnsctl.RecordSet{}, old())},
	}
}

func markCases() []testCase {
	none := dnsctl.Mark{}
	wanted := answer(moved(), mark("shop-1", 1))
	return []testCase{
		{"a mark that another owner has set since fails", func(b *testbed) {
			theirs := answer(old(), mark("other-1", 1))
			b.must(b.change(www, answer(old(), none), theirs))
			b.mustFail(dnsctl.ClassChanged, b.change(www, answer(old(), none), wanted))
			b.wants(www, theirs)
		}},
		{"a mark with another sequence than the one looked at fails", func(b *testbed) {
			second := answer(old(), mark("shop-1", 2))
			b.must(b.change(www, answer(old(), none), second))
			b.mustFail(dnsctl.ClassChanged, b.change(www, answer(old(), mark("shop-1", 1)), wanted))
			b.wants(www, second)
		}},
		{"a mark that is gone since the look fails", func(b *testbed) {
			b.mustFail(dnsctl.ClassChanged, b.change(www, answer(old(), mark("shop-1", 1)), wanted))
			b.wants(www, answer(old(), none))
		}},
	}
}

func zoneCases() []testCase {
	none := dnsctl.Mark{}
	wanted := answer(moved(), mark("shop-1", 1))
	return []testCase{
		{"several names change together or not at all", func(b *testbed) {
			good := b.change(www, answer(old(), none), wanted)
			bad := b.change(www2, answer(old(), none), wanted)
			b.mustFail(dnsctl.ClassChanged, good, bad)
			b.wants(www, answer(old(), none))
			b.must(good, b.change(www2, answer(both(), none), wanted))
			b.wants(www, wanted)
			b.wants(www2, wanted)
		}},
		{"of many writers from the same state exactly one wins", func(b *testbed) {
			if won := b.race(b.rivals(5)); won != 1 {
				b.Fatalf("%d writers won, want 1", won)
			}
		}},
		{"a name outside the zone is our bug", func(b *testbed) {
			b.mustFail(dnsctl.ClassBug, b.change("www.elsewhere.test", answer(dnsctl.RecordSet{}, none), wanted))
		}},
		{"a manual zone is never written", func(b *testbed) {
			automatic := b.zone
			b.zone.Manual = true
			b.mustFail(dnsctl.ClassBug, b.change(www, answer(old(), none), wanted))
			b.zone = automatic
			b.wants(www, answer(old(), none))
		}},
	}
}
