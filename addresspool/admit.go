package addresspool

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Admit lists what stands in the way of claim, sorted: other entry points' rows, and other objects' uses on the same ports.
//
// A row of another entry point conflicts on every port, because the row is the lock; where both share the address, only
// where their listeners meet. A use conflicts where the ports
// meet; a use or a claim without ports meets every port. The claim's own holders never conflict, nor does a Node with an
// old or adopted address: it is the node's, that is why it is being moved or kept.
func Admit(ledger []Claim, uses []Use, claim Claim) []Conflict {
	var out []Conflict
	address := claim.Address.Unmap()
	for _, row := range ledger {
		if row.Address.Unmap() == address && row.EntryPoint != claim.EntryPoint {
			for _, message := range against(row, claim) {
				out = append(out, Conflict{address, "AddressClaim " + ClaimName(address), message})
			}
		}
	}
	want := holderPorts(claim.Holders)
	for _, use := range uses {
		if use.Address.Unmap() != address || isOwn(claim, use.Object) {
			continue
		}
		if met, all := meet(want, use.Ports); all || len(met) > 0 {
			out = append(out, Conflict{address, use.Object, useMessage(address.String(), use, met)})
		}
	}
	slices.SortFunc(out, func(a, b Conflict) int {
		return cmp.Or(strings.Compare(a.Object, b.Object), strings.Compare(a.Message, b.Message))
	})
	return slices.Compact(out)
}

func useMessage(address string, use Use, met []string) string {
	if len(met) == 0 {
		return fmt.Sprintf("%s uses %s; take another address, or free this one", use.Object, address)
	}
	return fmt.Sprintf("%s uses %s on %s; take another address or other ports, or free this one", use.Object, address, strings.Join(met, ", "))
}

// isOwn tells uses that are the claim's own: by a holder (as Service, or as the Gateway of that name), or by the node
// whose address is about to be moved or kept.
func isOwn(claim Claim, object string) bool {
	kind, name, _ := strings.Cut(object, " ")
	if kind == "Node" {
		return claim.Role != New
	}
	if kind != "Service" && kind != "Gateway" {
		return false
	}
	return slices.ContainsFunc(claim.Holders, func(h Holder) bool { return h.Namespace+"/"+h.Name == name })
}

func holderPorts(holders []Holder) map[string]bool {
	ports := map[string]bool{}
	for _, h := range holders {
		for _, p := range h.Ports {
			ports[p] = true
		}
	}
	return ports
}

// meet returns the ports both sides use, sorted; all is true where one side uses every port.
func meet(want map[string]bool, used []string) (met []string, all bool) {
	if len(want) == 0 || len(used) == 0 {
		return nil, true
	}
	for _, p := range used {
		if want[p] {
			met = append(met, p)
		}
	}
	slices.Sort(met)
	return slices.Compact(met), false
}
