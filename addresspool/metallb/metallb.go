package metallb

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"go.universe.tf/metallb/api/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"offramp.dev/addresspool"
)

// Pools reads the pools, sorted by namespace and name, with who announces each. A range that cannot be read is left out and
// makes the pool unreadable, as do selectors that depend on labels of namespaces or Services. Advertisements must be all
// there are: one that is missing here is one that does not exist.
func Pools(pools []v1beta1.IPAddressPool, l2 []v1beta1.L2Advertisement, bgp []v1beta1.BGPAdvertisement) []addresspool.Pool {
	out := make([]addresspool.Pool, 0, len(pools))
	for i := range pools {
		out = append(out, poolOf(&pools[i], l2, bgp))
	}
	slices.SortFunc(out, func(a, b addresspool.Pool) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return out
}

func poolOf(p *v1beta1.IPAddressPool, l2 []v1beta1.L2Advertisement, bgp []v1beta1.BGPAdvertisement) addresspool.Pool {
	out := addresspool.Pool{Name: p.Name, Namespace: p.Namespace, AutoAssign: p.Spec.AutoAssign == nil || *p.Spec.AutoAssign}
	var unreadable []string
	for i, text := range p.Spec.Addresses {
		r, err := ParseRange(text)
		if err != nil {
			unreadable = append(unreadable, fmt.Sprintf("spec.addresses[%d]: %v", i, err))
			continue
		}
		out.Ranges = append(out.Ranges, r)
	}
	if a := p.Spec.AllocateTo; a != nil {
		out.Namespaces = slices.Compact(slices.Sorted(slices.Values(a.Namespaces)))
		if len(a.NamespaceSelectors) > 0 {
			unreadable = append(unreadable, "spec.serviceAllocation.namespaceSelectors: namespaces are selected by label")
		}
		if len(a.ServiceSelectors) > 0 {
			unreadable = append(unreadable, "spec.serviceAllocation.serviceSelectors: Services are selected by label")
		}
	}
	announcers, doubts := announcersOf(p, l2, bgp)
	out.Announcers = announcers
	out.Unreadable = strings.Join(append(unreadable, doubts...), "; ")
	return out
}

// ParseRange reads one element of spec.addresses: a prefix (192.0.2.0/24) or first-last. A bare address is refused, as
// MetalLB does.
func ParseRange(text string) (addresspool.Range, error) {
	first, last, isSpan := strings.Cut(text, "-")
	if !isSpan {
		p, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			return addresspool.Range{}, fmt.Errorf("%s is neither a prefix such as 192.0.2.0/24 nor a range such as 192.0.2.1-192.0.2.9",
				addresspool.Quote(text))
		}
		return addresspool.PrefixRange(p), nil
	}
	from, _, err := addresspool.Canonical(strings.TrimSpace(first))
	if err != nil {
		return addresspool.Range{}, fmt.Errorf("first address of the range: %w", err)
	}
	to, _, err := addresspool.Canonical(strings.TrimSpace(last))
	if err != nil {
		return addresspool.Range{}, fmt.Errorf("last address of the range: %w", err)
	}
	if from.Is4() != to.Is4() || to.Less(from) {
		return addresspool.Range{}, fmt.Errorf("%s is no range: first and last need one family, and an order", addresspool.Quote(text))
	}
	return addresspool.Range{First: from, Last: to}, nil
}

// announcersOf finds the advertisements of a pool, and those of which it cannot be told.
//
// An advertisement that selects Services by label announces only those: it is no announcer, since the Services we make
// carry no such label. One that limits nodes or peers counts; whether such a node lives is for a probe to see.
func announcersOf(p *v1beta1.IPAddressPool, l2 []v1beta1.L2Advertisement, bgp []v1beta1.BGPAdvertisement) (announcers, doubts []string) {
	note := func(kind string, meta metav1.ObjectMeta, names []string, selectors, services []metav1.LabelSelector) {
		object := kind + " " + meta.Namespace + "/" + meta.Name
		selected, err := selects(p, names, selectors)
		switch {
		case meta.Namespace != p.Namespace || len(services) > 0:
		case err != nil:
			doubts = append(doubts, fmt.Sprintf("%s spec.ipAddressPoolSelectors: %v", object, err))
		case selected:
			announcers = append(announcers, object)
		}
	}
	for _, ad := range l2 {
		note("L2Advertisement", ad.ObjectMeta, ad.Spec.IPAddressPools, ad.Spec.IPAddressPoolSelectors, ad.Spec.ServiceSelectors)
	}
	for _, ad := range bgp {
		note("BGPAdvertisement", ad.ObjectMeta, ad.Spec.IPAddressPools, ad.Spec.IPAddressPoolSelectors, ad.Spec.ServiceSelectors)
	}
	slices.Sort(announcers)
	slices.Sort(doubts)
	return announcers, doubts
}

// selects: without names and selectors an advertisement means every pool, otherwise those it names or selects.
func selects(p *v1beta1.IPAddressPool, names []string, selectors []metav1.LabelSelector) (bool, error) {
	if len(names) == 0 && len(selectors) == 0 || slices.Contains(names, p.Name) {
		return true, nil
	}
	for i := range selectors {
		s, err := metav1.LabelSelectorAsSelector(&selectors[i])
		if err != nil {
			return false, fmt.Errorf("selector %d cannot be read: %w", i, err)
		}
		if s.Matches(labels.Set(p.Labels)) {
			return true, nil
		}
	}
	return false, nil
}
