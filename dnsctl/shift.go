package dnsctl

import (
	"net/netip"
	"time"
)

// family picks one address family of a record set.
type family int

const (
	familyA family = iota
	familyAAAA
)

func (f family) String() string {
	if f == familyA {
		return "A"
	}
	return "AAAA"
}

func (f family) of(r RecordSet) RRset {
	if f == familyA {
		return r.A
	}
	return r.AAAA
}

// holds tells whether a is an address that a record of this family can carry. An IPv4-mapped IPv6 address fits none.
func (f family) holds(a netip.Addr) bool {
	if f == familyA {
		return a.Is4()
	}
	return a.Is6() && !a.Is4In6() && a.Zone() == ""
}

// Allowed lists the record sets that a server may answer in step s of a shift with the given share percents (the
// last one is 100). Static steps allow one; a share below 50 allows two (slots). The first is the safe one. A step
// whose share ValidateShares refuses allows none.
func (n Name) Allowed(s Step, percents []int32) []RecordSet {
	switch {
	case s <= StepSnapshot:
		return []RecordSet{n.Snapshot.canonical()}
	case s == StepLowTTL:
		return []RecordSet{n.low(n.oldSet)}
	}
	p, reached := percentOf(s, percents)
	switch {
	case !reached:
		return []RecordSet{n.last()}
	case p == 100:
		return []RecordSet{n.low(n.newSet)}
	case p == 50:
		return []RecordSet{n.low(n.bothSet)}
	case p > 0 && p < 50:
		return []RecordSet{n.low(n.oldSet), n.low(n.bothSet)}
	}
	return nil
}

// Wanted is the set that the schedule of step s asks for at now. anchor is when the step was intended; slots false
// means that only the safe set may stand. A step that allows nothing wants the old members at the low TTL.
func (n Name) Wanted(s Step, percents []int32, anchor, now time.Time, slots bool) RecordSet {
	sets := n.Allowed(s, percents)
	switch {
	case len(sets) == 0:
		return n.low(n.oldSet)
	case len(sets) == 1 || !slots:
		return sets[0]
	}
	if p, reached := percentOf(s, percents); reached && n.Schedule(p).High(anchor, now) {
		return sets[1]
	}
	return sets[0]
}

// percentOf is the share that step s asks for; false where s is no share step, or one behind the last.
func percentOf(s Step, percents []int32) (int32, bool) {
	i := int(s) - 1
	if i < 0 || i >= len(percents) {
		return 0, false
	}
	return percents[i], true
}

// LargestTTL is the largest TTL in seconds that any cache may still hold of the snapshot, of the sets of the walk,
// and of the aliases that lead to them.
func (n Name) LargestTTL() uint32 {
	return max(n.Snapshot.largestTTL(), n.low(n.bothSet).largestTTL(), n.ChainTTL)
}

// HasNew tells whether r holds a member of n.New.
func (n Name) HasNew(r RecordSet) bool { return r.holdsAny(n.New) }

// HasOld tells whether r holds a member of n.Old.
func (n Name) HasOld(r RecordSet) bool { return r.holdsAny(n.Old) }

// NominalShare is the share of new that r asks for, in percent (rounded down) of the clients that pick evenly among the
// members that move; members that stay are nobody's share. Where the families differ it is the larger share.
func (n Name) NominalShare(r RecordSet) int32 {
	best := share{of: 1}
	for _, f := range []family{familyA, familyAAAA} {
		best = best.larger(n.shareOf(f.of(r)))
	}
	return int32(min(100, max(0, 100*best.part/best.of)))
}

// share is part/of as whole numbers, of is never 0.
type share struct{ part, of int }

func (s share) larger(o share) share {
	if o.part*s.of > s.part*o.of {
		return o
	}
	return s
}

func (n Name) shareOf(r RRset) share {
	fresh := len(intersect(r.Addresses, n.New))
	all := fresh + len(intersect(r.Addresses, n.Old))
	return share{part: fresh, of: max(all, 1)}
}

// moves tells whether the family holds a member that leaves and gets one that comes. Any other family keeps its
// members: no AAAA appears where none was, and no family is emptied.
func (n Name) moves(f family) bool {
	return len(intersect(f.of(n.Snapshot).Addresses, n.Old)) > 0 && len(only(n.New, f)) > 0
}

func (n Name) oldSet(f family) []netip.Addr { return sorted(f.of(n.Snapshot).Addresses) }

func (n Name) bothSet(f family) []netip.Addr {
	if !n.moves(f) {
		return n.oldSet(f)
	}
	return union(n.oldSet(f), only(n.New, f))
}

func (n Name) newSet(f family) []netip.Addr {
	if !n.moves(f) {
		return n.oldSet(f)
	}
	return union(without(n.oldSet(f), n.Old), only(n.New, f))
}

// low gives the members at the low TTL, never above what the family had.
func (n Name) low(members func(family) []netip.Addr) RecordSet {
	return n.build(members, func(t uint32) uint32 { return min(t, n.LowTTL) })
}

// last is new at the TTLs of the snapshot.
func (n Name) last() RecordSet {
	return n.build(n.newSet, func(t uint32) uint32 { return t })
}

func (n Name) build(members func(family) []netip.Addr, ttl func(uint32) uint32) RecordSet {
	return RecordSet{
		A:    newRRset(members(familyA), ttl(n.Snapshot.A.TTL)),
		AAAA: newRRset(members(familyAAAA), ttl(n.Snapshot.AAAA.TTL)),
	}
}
