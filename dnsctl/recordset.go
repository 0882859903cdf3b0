package dnsctl

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Equal compares addresses as sets and TTLs exactly. The TTL of a set that does not exist means nothing.
func (r RecordSet) Equal(o RecordSet) bool {
	return r.A.equal(o.A) && r.AAAA.equal(o.AAAA) && fold(r.Alias) == fold(o.Alias)
}

// Empty tells whether there is no record at all.
func (r RecordSet) Empty() bool {
	return len(r.A.Addresses) == 0 && len(r.AAAA.Addresses) == 0 && r.Alias == ""
}

// String prints the records as a human would say them: "A 192.0.2.1 192.0.2.2 (TTL 30), AAAA 2001:db8::1 (TTL 30)".
func (r RecordSet) String() string {
	var parts []string
	if r.Alias != "" {
		parts = append(parts, "CNAME "+r.Alias)
	}
	for _, f := range []family{familyA, familyAAAA} {
		if set := f.of(r); len(set.Addresses) > 0 {
			parts = append(parts, f.String()+" "+set.String())
		}
	}
	if len(parts) == 0 {
		return "no record"
	}
	return strings.Join(parts, ", ")
}

// String prints addresses and TTL.
func (r RRset) String() string {
	words := make([]string, 0, len(r.Addresses)+1)
	for _, a := range sorted(r.Addresses) {
		words = append(words, a.String())
	}
	return strings.Join(append(words, "(TTL "+strconv.FormatUint(uint64(r.TTL), 10)+")"), " ")
}

func (r RRset) equal(o RRset) bool {
	a, b := newRRset(r.Addresses, r.TTL), newRRset(o.Addresses, o.TTL)
	return a.TTL == b.TTL && slices.Equal(a.Addresses, b.Addresses)
}

// canonical is a copy: sorted, unique, the alias folded.
func (r RecordSet) canonical() RecordSet {
	return RecordSet{A: newRRset(r.A.Addresses, r.A.TTL), AAAA: newRRset(r.AAAA.Addresses, r.AAAA.TTL), Alias: fold(r.Alias)}
}

func (r RecordSet) largestTTL() uint32 {
	return max(newRRset(r.A.Addresses, r.A.TTL).TTL, newRRset(r.AAAA.Addresses, r.AAAA.TTL).TTL)
}

func (r RecordSet) holdsAny(addrs []netip.Addr) bool {
	return len(intersect(r.A.Addresses, addrs)) > 0 || len(intersect(r.AAAA.Addresses, addrs)) > 0
}

// newRRset copies, sorts and makes unique; without addresses there is no TTL either.
func newRRset(addrs []netip.Addr, ttl uint32) RRset {
	if len(addrs) == 0 {
		return RRset{}
	}
	return RRset{Addresses: sorted(addrs), TTL: ttl}
}

func sorted(addrs []netip.Addr) []netip.Addr {
	out := slices.Clone(addrs)
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}

func union(a, b []netip.Addr) []netip.Addr { return sorted(slices.Concat(a, b)) }

func intersect(a, b []netip.Addr) []netip.Addr {
	return filter(a, func(x netip.Addr) bool { return slices.Contains(b, x) })
}

func without(a, b []netip.Addr) []netip.Addr {
	return filter(a, func(x netip.Addr) bool { return !slices.Contains(b, x) })
}

func only(a []netip.Addr, f family) []netip.Addr { return filter(a, f.holds) }

func filter(a []netip.Addr, keep func(netip.Addr) bool) []netip.Addr {
	var out []netip.Addr
	for _, x := range sorted(a) {
		if keep(x) {
			out = append(out, x)
		}
	}
	return out
}

// fold is the one spelling of a name: lower case, no trailing dot.
func fold(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }
