package metallb

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	metallbv1beta1 "go.universe.tf/metallb/api/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"offramp.dev/addresspool"
)

// AnnotationAddresses pins a Service to addresses, comma separated (MetalLB's loadBalancerIPs).
const AnnotationAddresses = "metallb.io/loadBalancerIPs"

// Pools turns MetalLB's objects into pools, in the order of their names. A range that cannot be read is left out and
// named in Unreadable: nothing is picked from a pool that is not fully understood.
func Pools(
	pools []metallbv1beta1.IPAddressPool, l2 []metallbv1beta1.L2Advertisement, bgp []metallbv1beta1.BGPAdvertisement,
) []addresspool.Pool {
	out := make([]addresspool.Pool, 0, len(pools))
	for i := range pools {
		out = append(out, pool(&pools[i], l2, bgp))
	}
	slices.SortFunc(out, func(a, b addresspool.Pool) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func pool(p *metallbv1beta1.IPAddressPool, l2 []metallbv1beta1.L2Advertisement, bgp []metallbv1beta1.BGPAdvertisement) addresspool.Pool {
	out := addresspool.Pool{Name: p.Name, Namespace: p.Namespace, AutoAssign: p.Spec.AutoAssign == nil || *p.Spec.AutoAssign}
	for _, text := range p.Spec.Addresses {
		r, err := ParseRange(text)
		if err != nil {
			out.Unreadable = fmt.Sprintf("spec.addresses: %v", err)
			continue
		}
		out.Ranges = append(out.Ranges, r)
	}
	if a := p.Spec.AllocateTo; a != nil {
		out.Namespaces = slices.Clone(a.Namespaces)
		if len(a.NamespaceSelectors)+len(a.ServiceSelectors) > 0 {
			out.Unreadable = "spec.serviceAllocation has selectors, which cannot be judged before the Service exists"
		}
	}
	for i := range l2 {
		if announces(l2[i].Spec.IPAddressPools, l2[i].Spec.IPAddressPoolSelectors, p) {
			out.Announcers = append(out.Announcers, "L2Advertisement "+l2[i].Namespace+"/"+l2[i].Name)
		}
	}
	for i := range bgp {
		if announces(bgp[i].Spec.IPAddressPools, bgp[i].Spec.IPAddressPoolSelectors, p) {
			out.Announcers = append(out.Announcers, "BGPAdvertisement "+bgp[i].Namespace+"/"+bgp[i].Name)
		}
	}
	return out
}

// announces follows MetalLB: an advertisement without any selector of pools announces all pools.
func announces(names []string, selectors []metav1.LabelSelector, p *metallbv1beta1.IPAddressPool) bool {
	if len(names) == 0 && len(selectors) == 0 || slices.Contains(names, p.Name) {
		return true
	}
	return slices.ContainsFunc(selectors, func(s metav1.LabelSelector) bool {
		sel, err := metav1.LabelSelectorAsSelector(&s)
		return err == nil && sel.Matches(labels.Set(p.Labels))
	})
}

// ParseRange reads "192.0.2.0/24" or "192.0.2.10-192.0.2.20", as MetalLB does: a bare address is refused.
func ParseRange(text string) (addresspool.Range, error) {
	if first, last, ok := strings.Cut(text, "-"); ok {
		a, errA := netip.ParseAddr(strings.TrimSpace(first))
		b, errB := netip.ParseAddr(strings.TrimSpace(last))
		if errA != nil || errB != nil || a.Is4() != b.Is4() || b.Less(a) {
			return addresspool.Range{}, fmt.Errorf("%q is no range of addresses of one family", text)
		}
		return addresspool.Range{First: a, Last: b}, nil
	}
	p, err := netip.ParsePrefix(strings.TrimSpace(text))
	if err != nil {
		return addresspool.Range{}, fmt.Errorf("%q is neither a CIDR nor a range: write one address as A/32 or A/128", text)
	}
	return addresspool.Range{First: p.Masked().Addr(), Last: lastOf(p)}, nil
}

func lastOf(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().AsSlice()
	for bit := p.Bits(); bit < len(b)*8; bit++ {
		b[bit/8] |= 1 << (7 - bit%8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}
