package inventory

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// MaxPointers is how many records an entry point shows for each of its addresses.
const MaxPointers = 64

// longestAlias is how many CNAMEs in a row are followed; resolvers stop at about as many.
const longestAlias = 8

// pointersAt are the records that lead to each address, by name and type.
func pointersAt(records []Record) map[netip.Addr][]Pointer {
	sets := mergeRecords(records)
	out := map[netip.Addr][]Pointer{}
	for _, key := range sortedKeys(sets) {
		s := sets[key]
		for a := range set(addressesOfName(sets, *s)) {
			out[a] = append(out[a], s.Pointer)
		}
	}
	return out
}

// rrset is a record merged over the servers that answered it.
type rrset struct {
	Pointer
	addresses []netip.Addr
}

func mergeRecords(records []Record) map[string]*rrset {
	sets := map[string]*rrset{}
	for _, r := range records {
		name, ok := hostname(r.Name)
		if !ok {
			continue
		}
		key := name + " " + r.Type
		s := sets[key]
		if s == nil {
			s = &rrset{Pointer: Pointer{Name: name, Type: r.Type}}
			sets[key] = s
		}
		s.merge(r)
	}
	for _, s := range sets {
		slices.Sort(s.Servers)
		s.Servers = slices.Compact(s.Servers)
	}
	return sets
}

// merge keeps the longest TTL, because a wait must outlast every cache, and answers that do not depend on the order.
func (s *rrset) merge(r Record) {
	s.TTL = max(s.TTL, r.TTL)
	s.addresses = append(s.addresses, r.Addresses...)
	if r.Server != "" {
		s.Servers = append(s.Servers, r.Server)
	}
	if target, ok := hostname(r.Target); ok && r.Type == "CNAME" {
		s.Target = cmp.Or(min(cmp.Or(s.Target, target), target), target)
	}
	if r.Owner != "" {
		s.Owner = min(cmp.Or(s.Owner, r.Owner), r.Owner)
	}
	s.MovesByItself = s.MovesByItself || strings.HasPrefix(r.Owner, "external-dns")
}

// addressesOfName follows CNAMEs. A circle of them leads nowhere.
func addressesOfName(sets map[string]*rrset, s rrset) []netip.Addr {
	for range longestAlias {
		if s.Type != "CNAME" {
			return s.addresses
		}
		var out []netip.Addr
		for _, kind := range []string{"A", "AAAA"} {
			if next := sets[s.Target+" "+kind]; next != nil {
				out = append(out, next.addresses...)
			}
		}
		if len(out) > 0 {
			return out
		}
		next := sets[s.Target+" CNAME"]
		if next == nil {
			return nil
		}
		s = *next
	}
	return nil
}

// pointersTo are the records that lead to the group, each once, with the addresses of the group that it leads to.
func (w *around) pointersTo(addresses []netip.Addr) []Pointer {
	at := map[string]int{}
	var out []Pointer
	for _, a := range addresses {
		for _, p := range w.pointers[a][:min(len(w.pointers[a]), MaxPointers)] {
			key := p.Name + " " + p.Type
			i, ok := at[key]
			if !ok {
				i = len(out)
				at[key] = i
				out = append(out, p)
			}
			out[i].Addresses = append(slices.Clip(out[i].Addresses), a.String())
		}
	}
	slices.SortFunc(out, func(a, b Pointer) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Type, b.Type))
	})
	return out
}

// declaredRecords maps addresses to DNSEndpoints that name them: external-dns writes what those say.
func declaredRecords(others []*unstructured.Unstructured) map[netip.Addr][]string {
	out := map[netip.Addr][]string{}
	for _, o := range ofKind(others, "DNSEndpoint") {
		for i, element := range asList(at(o.Object, "spec", "endpoints")) {
			if i == MaxFindings {
				break
			}
			for _, a := range listOf(at(element, "targets")) {
				out[a] = append(out[a], objectText(o)+" ("+quote(textAt(element, "dnsName"))+")")
			}
		}
	}
	return out
}
