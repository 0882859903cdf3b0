package gateway

import (
	"net/netip"
	"slices"
	"strings"
)

// targetAddresses are the addresses in canonical form, IPv4 first. MetalLB and the implementations compare text.
func targetAddresses(r *report, entryPoint string, in []netip.Addr) []netip.Addr {
	object := "EntryPoint " + entryPoint + " addresses"
	out := []netip.Addr{}
	for _, a := range in {
		canonical := a.Unmap()
		if !servable(canonical) {
			r.block(ReasonNoAddress, object, "the address "+a.String()+" cannot be served outside a node",
				"give the entry point an address from a pool of the policy")
			continue
		}
		out = append(out, canonical)
	}
	slices.SortFunc(out, netip.Addr.Compare)
	out = slices.Compact(out)
	if len(in) == 0 {
		r.block(ReasonNoAddress, object, "there is no address to pin", "let a pool of the policy hold a free address")
	}
	if hasTwoOfOneFamily(out) {
		r.block(ReasonTooManyAddresses, object, "one Service holds at most one address per family, but these are pinned: "+joined(out),
			"split the entry point with spec.members, or serve it on one address")
	}
	return out
}

// servable refuses what no load balancer can announce.
func servable(a netip.Addr) bool {
	return a.IsValid() && a.Zone() == "" && !a.IsUnspecified() && !a.IsLoopback() && !a.IsMulticast() && !a.IsLinkLocalUnicast()
}

func hasTwoOfOneFamily(addresses []netip.Addr) bool {
	v4 := 0
	for _, a := range addresses {
		if a.Is4() {
			v4++
		}
	}
	return v4 > 1 || len(addresses)-v4 > 1
}

// joined is the form that annotation metallb.io/loadBalancerIPs has.
func joined(addresses []netip.Addr) string {
	texts := make([]string, 0, len(addresses))
	for _, a := range addresses {
		texts = append(texts, a.String())
	}
	return strings.Join(texts, ",")
}
