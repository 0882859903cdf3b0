package dnsctl

import (
	"net/netip"
	"reflect"
	"testing"
	"time"
)

func addrs(list ...string) []netip.Addr {
	var out []netip.Addr
	for _, a := range list {
		out = append(out, netip.MustParseAddr(a))
	}
	return out
}

func set(ttl uint32, list ...string) RRset { return RRset{Addresses: addrs(list...), TTL: ttl} }

// shop is a name with one member that leaves and one that stays.
func shop() Name {
	return Name{
		Name: "shop.example.test", Zone: "example",
		Snapshot: RecordSet{A: set(3600, "192.0.2.9", "192.0.2.10")},
		Old:      addrs("192.0.2.10"), New: addrs("198.51.100.20"), LowTTL: 30,
	}
}

func single() Name {
	n := shop()
	n.Snapshot.A = set(3600, "192.0.2.10")
	return n
}

func dual() Name {
	n := shop()
	n.Snapshot = RecordSet{A: set(3600, "192.0.2.10"), AAAA: set(20, "2001:db8::10")}
	n.Old = addrs("192.0.2.10", "2001:db8::10")
	n.New = addrs("198.51.100.20", "2001:db8::20")
	return n
}

func TestWhatAStepAllows(t *testing.T) {
	t.Parallel()
	percents := []int32{10, 25, 50, 100}
	lows := RecordSet{A: set(30, "192.0.2.9", "192.0.2.10")}
	both := RecordSet{A: set(30, "192.0.2.9", "192.0.2.10", "198.51.100.20")}
	tests := map[string]struct {
		name Name
		step Step
		want []RecordSet
	}{
		"the snapshot step allows the snapshot exactly":           {shop(), -1, []RecordSet{shop().Snapshot}},
		"step 0 allows the snapshot's members at the low TTL":     {shop(), 0, []RecordSet{lows}},
		"a share below 50 allows old, and old and new, old first": {shop(), 1, []RecordSet{lows, both}},
		"a second share below 50 allows the same two":             {shop(), 2, []RecordSet{lows, both}},
		"50 percent allows old and new together":                  {shop(), 3, []RecordSet{both}},
		"100 percent allows new beside what is neither old nor new": {
			shop(),
			4,
			[]RecordSet{{A: set(30, "192.0.2.9", "198.51.100.20")}},
		},
		"the last step is new at the original TTL": {
			shop(),
			5,
			[]RecordSet{{A: set(3600, "192.0.2.9", "198.51.100.20")}},
		},
		"a step beyond the last is the last": {shop(), 9, []RecordSet{{A: set(3600, "192.0.2.9", "198.51.100.20")}}},
		"both families move together": {
			dual(),
			3,
			[]RecordSet{{A: set(30, "192.0.2.10", "198.51.100.20"), AAAA: set(20, "2001:db8::10", "2001:db8::20")}},
		},
		"the low TTL of a family is never above its own": {
			dual(),
			0,
			[]RecordSet{{A: set(30, "192.0.2.10"), AAAA: set(20, "2001:db8::10")}},
		},
		"each family gets its own original TTL back": {
			dual(),
			5,
			[]RecordSet{{A: set(3600, "198.51.100.20"), AAAA: set(20, "2001:db8::20")}},
		},
		"no AAAA appears where none was": {
			with(single(), func(n *Name) { n.New = append(n.New, addrs("2001:db8::20")...) }),
			4,
			[]RecordSet{{A: set(30, "198.51.100.20")}},
		},
		"a family without a new address is not emptied": {
			with(dual(), func(n *Name) { n.New = addrs("198.51.100.20") }),
			4,
			[]RecordSet{{A: set(30, "198.51.100.20"), AAAA: set(20, "2001:db8::10")}},
		},
		"a family whose members are all others' is left as it is": {
			with(dual(), func(n *Name) { n.Old = addrs("192.0.2.10") }),
			4,
			[]RecordSet{{A: set(30, "198.51.100.20"), AAAA: set(20, "2001:db8::10")}},
		},
		"a mapped IPv4 address is nobody's new member": {
			with(dual(), func(n *Name) { n.New = addrs("198.51.100.20", "::ffff:198.51.100.20") }),
			4,
			[]RecordSet{{A: set(30, "198.51.100.20"), AAAA: set(20, "2001:db8::10")}},
		},
		"a low TTL above the snapshot's leaves the snapshot's": {
			with(single(), func(n *Name) { n.LowTTL = 7200 }),
			0,
			[]RecordSet{{A: set(3600, "192.0.2.10")}},
		},
		"members given twice and unsorted come once and sorted": {
			with(single(), func(n *Name) { n.New = addrs("198.51.100.21", "198.51.100.20", "198.51.100.21") }),
			4,
			[]RecordSet{{A: set(30, "198.51.100.20", "198.51.100.21")}},
		},
		"an alias stays in the snapshot": {
			with(single(), func(n *Name) { n.Snapshot = RecordSet{Alias: "web.example.test"} }),
			-1,
			[]RecordSet{{Alias: "web.example.test"}},
		},
		"old addresses that the snapshot has not are not invented": {
			with(single(), func(n *Name) { n.Old = append(n.Old, addrs("192.0.2.77")...) }),
			0,
			[]RecordSet{{A: set(30, "192.0.2.10")}},
		},
		"a snapshot without any old member never gets a new one": {
			with(single(), func(n *Name) { n.Old = addrs("192.0.2.77") }),
			4,
			[]RecordSet{{A: set(30, "192.0.2.10")}},
		},
		"an empty snapshot stays empty": {
			with(single(), func(n *Name) { n.Snapshot = RecordSet{} }),
			4,
			[]RecordSet{{}},
		},
		"the new side's second address joins without a second old member": {
			with(single(), func(n *Name) { n.New = addrs("198.51.100.20", "198.51.100.21") }),
			3,
			[]RecordSet{{A: set(30, "192.0.2.10", "198.51.100.20", "198.51.100.21")}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tt.name.Allowed(tt.step, percents); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func with(n Name, edit func(*Name)) Name {
	edit(&n)
	return n
}

func TestASharePastHalfIsNotInvented(t *testing.T) {
	t.Parallel()
	for _, p := range []int32{-5, 0, 51, 75, 99, 101} {
		if got := shop().Allowed(1, []int32{p, 100}); got != nil {
			t.Errorf("%d %% allows %v, want nothing", p, got)
		}
		got := shop().Wanted(1, []int32{p, 100}, anchor, anchor, true)
		if !got.Equal(shop().Allowed(StepLowTTL, nil)[0]) {
			t.Errorf("%d %% wants %v, want the old members at the low TTL", p, got)
		}
	}
}

var anchor = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestWhatTheScheduleWants(t *testing.T) {
	t.Parallel()
	percents := []int32{10, 25, 50, 100}
	old := RecordSet{A: set(30, "192.0.2.10")}
	both := RecordSet{A: set(30, "192.0.2.10", "198.51.100.20")}
	tests := map[string]struct {
		step  Step
		after time.Duration
		slots bool
		want  RecordSet
	}{
		"10 percent begins with a high slot":            {1, 0, true, both},
		"10 percent keeps the high slot for its length": {1, 9999 * time.Millisecond, true, both},
		"10 percent leaves it after ten seconds":        {1, 10 * time.Second, true, old},
		"10 percent is low in the fifth slot":           {1, 49 * time.Second, true, old},
		"10 percent is high in every fifth slot":        {1, 50 * time.Second, true, both},
		"10 percent is high in the same place a day on": {1, 24*time.Hour + 5*time.Second, true, both},
		"25 percent is high in every other slot":        {2, 20 * time.Second, true, both},
		"25 percent is low in between":                  {2, 30 * time.Second, true, old},
		"without slots the safe set stands":             {1, 0, false, old},
		"before the anchor the safe set stands":         {1, -time.Second, true, old},
		"half is always both":                           {3, 15 * time.Second, true, both},
		"half needs no slots":                           {3, 15 * time.Second, false, both},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := single().Wanted(tt.step, percents, anchor, anchor.Add(tt.after), tt.slots)
			if !got.Equal(tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestSharesAndTTLsOfASet(t *testing.T) {
	t.Parallel()
	percents := []int32{10, 50, 100}
	two := with(single(), func(n *Name) { n.New = addrs("198.51.100.20", "198.51.100.21") })
	lopsided := with(dual(), func(n *Name) { n.New = append(n.New, addrs("2001:db8::21", "2001:db8::22")...) })
	tests := map[string]struct {
		name  Name
		step  Step
		share int32
	}{
		"old alone is nothing":                          {single(), 0, 0},
		"one of each is half":                           {single(), 2, 50},
		"new alone is all":                              {single(), 3, 100},
		"members that stay are nobody's share":          {shop(), 2, 50},
		"two new to one old are two thirds":             {two, 2, 66},
		"the family with the larger share counts":       {lopsided, 2, 75},
		"an empty set asks for nothing":                 {with(single(), func(n *Name) { n.Snapshot = RecordSet{} }), 2, 0},
		"a set of none of ours asks for nothing at all": {with(shop(), func(n *Name) { n.Old = nil }), 2, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tt.name.Allowed(tt.step, percents)
			if s := tt.name.NominalShare(got[len(got)-1]); s != tt.share {
				t.Errorf("share %d, want %d", s, tt.share)
			}
		})
	}
}

func TestTheLargestTTLIsTheSnapshotsOwn(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		name Name
		want uint32
	}{
		"the snapshot's, not the low one":                {single(), 3600},
		"the larger of both families":                    {with(dual(), func(n *Name) { n.Snapshot.AAAA.TTL = 7200 }), 7200},
		"a low TTL above the snapshot's changes nothing": {with(single(), func(n *Name) { n.LowTTL = 86400 }), 3600},
		"the TTL of a set that is not there is none":     {with(single(), func(n *Name) { n.Snapshot.AAAA.TTL = 86400 }), 3600},
	} {
		if got := tt.name.LargestTTL(); got != tt.want {
			t.Errorf("%s: got %d, want %d", name, got, tt.want)
		}
	}
}

func TestHasOldAndHasNew(t *testing.T) {
	t.Parallel()
	n := dual()
	for name, tt := range map[string]struct {
		set      RecordSet
		old, new bool
	}{
		"nothing":             {RecordSet{}, false, false},
		"an address of none":  {RecordSet{A: set(1, "203.0.113.1")}, false, false},
		"old by its AAAA":     {RecordSet{AAAA: set(1, "2001:db8::10")}, true, false},
		"new among others":    {RecordSet{A: set(1, "203.0.113.1", "198.51.100.20")}, false, true},
		"both, in a mix":      {RecordSet{A: set(1, "192.0.2.10"), AAAA: set(1, "2001:db8::20")}, true, true},
		"an alias holds none": {RecordSet{Alias: "x.test"}, false, false},
	} {
		if n.HasOld(tt.set) != tt.old || n.HasNew(tt.set) != tt.new {
			t.Errorf("%s: old %v, new %v; want %v, %v", name, n.HasOld(tt.set), n.HasNew(tt.set), tt.old, tt.new)
		}
	}
}

func TestEqualComparesSetsAndTTLs(t *testing.T) {
	t.Parallel()
	base := RecordSet{A: set(30, "192.0.2.1", "192.0.2.2"), Alias: ""}
	for name, tt := range map[string]struct {
		other RecordSet
		want  bool
	}{
		"the order means nothing":               {RecordSet{A: set(30, "192.0.2.2", "192.0.2.1")}, true},
		"an address given twice counts once":    {RecordSet{A: set(30, "192.0.2.2", "192.0.2.1", "192.0.2.2")}, true},
		"the TTL of an empty set means nothing": {RecordSet{A: base.A, AAAA: RRset{TTL: 9}}, true},
		"another TTL differs":                   {RecordSet{A: set(31, "192.0.2.1", "192.0.2.2")}, false},
		"a subset differs":                      {RecordSet{A: set(30, "192.0.2.1")}, false},
		"another family differs":                {RecordSet{A: base.A, AAAA: set(30, "2001:db8::1")}, false},
		"an alias differs":                      {RecordSet{A: base.A, Alias: "x.test"}, false},
	} {
		if got := base.Equal(tt.other); got != tt.want || tt.other.Equal(base) != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
	if !(RecordSet{Alias: "Web.Example.Test."}).Equal(RecordSet{Alias: "web.example.test"}) {
		t.Error("an alias is compared by name, not by spelling")
	}
}
