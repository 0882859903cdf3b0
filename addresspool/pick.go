package addresspool

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Contains tells whether the pool may assign a.
func (p Pool) Contains(a netip.Addr) bool {
	return slices.ContainsFunc(p.Ranges, func(r Range) bool { return r.Contains(a) })
}

// Allows tells whether Services of a namespace may take from the pool. A pool that cannot be read allows nobody.
func (p Pool) Allows(namespace string) bool {
	return p.Unreadable == "" && (len(p.Namespaces) == 0 || slices.Contains(p.Namespaces, namespace))
}

// Contains tells whether a lies in the range.
func (r Range) Contains(a netip.Addr) bool {
	a = a.Unmap()
	return r.valid() && a.IsValid() && a.Is4() == r.First.Is4() && r.First.Compare(a) <= 0 && a.Compare(r.Last) <= 0
}

// Overlaps tells whether two ranges share an address.
func (r Range) Overlaps(o Range) bool {
	return r.valid() && o.valid() && r.First.Is4() == o.First.Is4() &&
		r.First.Compare(o.Last) <= 0 && o.First.Compare(r.Last) <= 0
}

func (r Range) valid() bool {
	return r.First.IsValid() && r.Last.IsValid() && r.First.Is4() == r.Last.Is4()
}

// Pick finds the address of the wanted family for entryPoint: the new one it already claims for itself, else the first free one in
// the named pools, in order. The error names the pools and says why none fits.
//
// Free means: in no row of the ledger and in nobody's use, on any port, because a new address is never shared with
// strangers. Pools that cannot be read or that nobody announces are passed over, as are addresses that end in .0 or .255
// (some devices drop them) unless the range is that address alone. Callers pass the pools that allow their namespace.
func Pick(pools []Pool, names []string, ledger []Claim, uses []Use, entryPoint string, is6 bool) (netip.Addr, Pool, error) {
	if len(names) == 0 {
		return netip.Addr{}, Pool{}, fmt.Errorf("no %s address for %s: the policy names no pool (spec.pools)", family(is6), entryPoint)
	}
	if a, ok := claimed(ledger, entryPoint, is6); ok {
		return keep(pools, names, entryPoint, a)
	}
	taken := takenAddresses(ledger, uses)
	var why []string
	for _, name := range names {
		pool, ok := byName(pools, name)
		if !ok {
			why = append(why, fmt.Sprintf("pool %s does not exist or does not serve this namespace", name))
			continue
		}
		a, reason := firstFree(pool, taken, is6)
		if reason == "" {
			return a, pool, nil
		}
		why = append(why, fmt.Sprintf("pool %s %s", name, reason))
	}
	return netip.Addr{}, Pool{}, fmt.Errorf("no %s address for %s: %s", family(is6), entryPoint, strings.Join(why, "; "))
}

// keep answers with the claimed address, since a claim is never exchanged behind its holder's back.
func keep(pools []Pool, names []string, entryPoint string, a netip.Addr) (netip.Addr, Pool, error) {
	for _, name := range names {
		if pool, ok := byName(pools, name); ok && pool.Contains(a) {
			return a, pool, nil
		}
	}
	return netip.Addr{}, Pool{}, fmt.Errorf("%s is claimed for %s but lies in none of the pools %s; put it back into one of them, or "+
		"delete the claim %s",
		a, entryPoint, strings.Join(names, ", "), ClaimName(a))
}

func claimed(ledger []Claim, entryPoint string, is6 bool) (netip.Addr, bool) {
	var found netip.Addr
	for _, row := range ledger {
		a := row.Address.Unmap()
		if row.EntryPoint != entryPoint || row.Role != New || row.Shared() || a.Is6() != is6 {
			continue
		}
		if !found.IsValid() || a.Less(found) {
			found = a
		}
	}
	return found, found.IsValid()
}

func takenAddresses(ledger []Claim, uses []Use) map[netip.Addr]bool {
	taken := make(map[netip.Addr]bool, len(ledger)+len(uses))
	for _, row := range ledger {
		taken[row.Address.Unmap()] = true
	}
	for _, use := range uses {
		taken[use.Address.Unmap()] = true
	}
	return taken
}

func byName(pools []Pool, name string) (Pool, bool) {
	i := slices.IndexFunc(pools, func(p Pool) bool { return p.Name == name })
	if i < 0 {
		return Pool{}, false
	}
	return pools[i], true
}

// firstFree walks at most as many addresses as are taken or passed over, however large the pool is.
func firstFree(pool Pool, taken map[netip.Addr]bool, is6 bool) (netip.Addr, string) {
	switch {
	case pool.Unreadable != "":
		return netip.Addr{}, "cannot be judged: " + pool.Unreadable
	case len(pool.Announcers) == 0:
		return netip.Addr{}, "is announced by no L2Advertisement or BGPAdvertisement"
	}
	reason := "has no " + family(is6) + " range"
	for _, r := range pool.Ranges {
		if !r.valid() || r.First.Is6() != is6 {
			continue
		}
		reason = "has no free " + family(is6) + " address"
		for a := r.First; r.Contains(a); a = a.Next() {
			if !taken[a] && (r.First == r.Last || !isEdge(a)) {
				return a, ""
			}
		}
	}
	return netip.Addr{}, reason
}

func isEdge(a netip.Addr) bool {
	if !a.Is4() {
		return false
	}
	last := a.As4()[3]
	return last == 0 || last == 255
}

func family(is6 bool) string {
	if is6 {
		return "IPv6"
	}
	return "IPv4"
}

// PrefixRange is the range of a prefix; host bits are cleared, an IPv4-mapped prefix is the IPv4 prefix it stands for.
func PrefixRange(p netip.Prefix) Range {
	if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
	}
	p = p.Masked()
	if !p.IsValid() {
		return Range{}
	}
	last := p.Addr().AsSlice()
	for i := p.Bits(); i < len(last)*8; i++ {
		last[i/8] |= 1 << (7 - i%8)
	}
	end, _ := netip.AddrFromSlice(last)
	return Range{p.Addr(), end}
}
