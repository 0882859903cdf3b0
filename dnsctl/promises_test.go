package dnsctl

import (
	"math/rand/v2"
	"net/netip"
	"reflect"
	"testing"
	"time"
)

// TestEverySetOfARandomShiftKeepsThePromises looks at thousands of names, sensible or not.
func TestEverySetOfARandomShiftKeepsThePromises(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	percents := []int32{5, 10, 25, 50, 100}
	for range 5000 {
		n := randomName(rng)
		kept := randomCopy(n)
		for s := Step(-1); s <= 6; s++ {
			sets := n.Allowed(s, percents)
			if len(sets) == 0 {
				t.Fatalf("step %d of %+v allows nothing", s, n)
			}
			for _, r := range sets {
				checkSet(t, n, s, r)
			}
			want := n.Wanted(s, percents, anchor, anchor.Add(time.Duration(rng.IntN(1000))*time.Second), rng.IntN(2) == 0)
			if !want.Equal(sets[0]) && !want.Equal(sets[len(sets)-1]) {
				t.Fatalf("step %d of %+v wants %v, which it does not allow", s, n, want)
			}
		}
		if !reflect.DeepEqual(n, kept) {
			t.Fatalf("the name was changed: %+v, was %+v", n, kept)
		}
	}
}

func checkSet(t *testing.T, n Name, s Step, r RecordSet) {
	t.Helper()
	checkFamilies(t, n, s, r)
	if s <= 0 && !n.HasNew(n.Snapshot) && n.HasNew(r) {
		t.Fatalf("step %d of %+v serves new: %v", s, n, r)
	}
	if n.Validate() == nil && s >= 5 && n.HasOld(r) {
		t.Fatalf("step %d of %+v still serves old: %v", s, n, r)
	}
	if r.largestTTL() > n.LargestTTL() {
		t.Fatalf("step %d of %+v: TTL above the largest: %v", s, n, r)
	}
}

func checkFamilies(t *testing.T, n Name, s Step, r RecordSet) {
	t.Helper()
	for _, f := range []family{familyA, familyAAAA} {
		was, is := f.of(n.Snapshot), f.of(r)
		if (len(was.Addresses) == 0) != (len(is.Addresses) == 0) {
			t.Fatalf("step %d of %+v: family %s appeared or vanished: %v", s, n, f, r)
		}
		if len(without(was.Addresses, append(append([]netip.Addr(nil), is.Addresses...), n.Old...))) > 0 {
			t.Fatalf("step %d of %+v: a member that stays is gone: %v", s, n, r)
		}
		if is.TTL > was.TTL || s >= 0 && s <= 5 && is.TTL > n.LowTTL && len(is.Addresses) > 0 {
			t.Fatalf("step %d of %+v: TTL of %s too large: %v", s, n, f, r)
		}
	}
}

func randomName(rng *rand.Rand) Name {
	pool := addrs("192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8::4")
	pick := func() []netip.Addr {
		var out []netip.Addr
		for range rng.IntN(4) {
			out = append(out, pool[rng.IntN(len(pool))])
		}
		return out
	}
	all := append(pick(), pick()...)
	return Name{
		Name: "a.example.test", Zone: "z", LowTTL: uint32(rng.IntN(60)), Old: pick(), New: pick(),
		Snapshot: RecordSet{
			A:    newRRset(only(all, familyA), uint32(rng.IntN(7200))),
			AAAA: newRRset(only(all, familyAAAA), uint32(rng.IntN(7200))),
		},
	}
}

func randomCopy(n Name) Name {
	dup := func(a []netip.Addr) []netip.Addr { return append([]netip.Addr(nil), a...) }
	n.Old, n.New = dup(n.Old), dup(n.New)
	n.Snapshot.A.Addresses, n.Snapshot.AAAA.Addresses = dup(n.Snapshot.A.Addresses), dup(n.Snapshot.AAAA.Addresses)
	return n
}
