package addresspool

import (
	"fmt"
	"slices"
	"strings"
)

// Shared tells whether other entry points may hold the address beside this one.
func (c Claim) Shared() bool { return len(c.Listeners) > 0 }

// Held tells whether the ledger holds claim as it is. An exclusive row needs no look at what is in it, for it stands in
// everybody's way; a share is the lock on its listeners, so it must be the one that was asked for.
func Held(ledger []Claim, claim Claim) bool {
	return slices.ContainsFunc(ledger, func(row Claim) bool {
		if row.Address.Unmap() != claim.Address.Unmap() || row.EntryPoint != claim.EntryPoint {
			return false
		}
		return !claim.Shared() || slices.EqualFunc(row.Listeners, claim.Listeners, sameListener) &&
			slices.EqualFunc(row.Holders, claim.Holders, sameHolder)
	})
}

func sameListener(a, b Listener) bool {
	return a.Port == b.Port && a.Protocol == b.Protocol && slices.Equal(a.Hostnames, b.Hostnames)
}

func sameHolder(a, b Holder) bool {
	return a.Namespace == b.Namespace && a.Name == b.Name && slices.Equal(a.Ports, b.Ports)
}

// Neighbors says who else serves the ports that entryPoint serves on shared addresses, sorted: "EntryPoint b on TCP/80
// of 192.0.2.9". Connections there cannot be told apart by address and port.
func Neighbors(ledger []Claim, entryPoint string) []string {
	var out []string
	for _, mine := range ledger {
		if mine.EntryPoint != entryPoint {
			continue
		}
		for _, row := range ledger {
			if row.EntryPoint == entryPoint || row.Address.Unmap() != mine.Address.Unmap() {
				continue
			}
			for _, port := range commonPorts(mine, row) {
				out = append(out, fmt.Sprintf("EntryPoint %s on %s of %s", row.EntryPoint, port, row.Address.Unmap()))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func commonPorts(a, b Claim) []string {
	var out []string
	for _, l := range a.Listeners {
		if slices.ContainsFunc(b.Listeners, func(o Listener) bool { return o.Port == l.Port }) {
			out = append(out, l.Port)
		}
	}
	return out
}

// against says why another entry point's row stands in the way of claim: as a whole, or where their listeners meet.
func against(row, claim Claim) []string {
	if !row.Shared() || !claim.Shared() {
		return []string{fmt.Sprintf(
			"%s is claimed by entry point %s; release that claim first, or take another address", claim.Address.Unmap(), row.EntryPoint)}
	}
	var out []string
	for _, theirs := range row.Listeners {
		for _, ours := range claim.Listeners {
			if what := clash(theirs, ours); what != "" {
				out = append(out, fmt.Sprintf("%s on shared address %s belongs to entry point %s; %s, or choose spec.strategy LoadBalancer",
					what, claim.Address.Unmap(), row.EntryPoint, wayOut(theirs, ours)))
			}
		}
	}
	return out
}

// clash names what two listeners would both serve; "" if they do not meet. A port is told apart by hostnames only where
// both sides have some and speak the same protocol.
func clash(theirs, ours Listener) string {
	switch {
	case theirs.Port != ours.Port:
		return ""
	case len(theirs.Hostnames) == 0:
		return "port " + theirs.Port
	case len(ours.Hostnames) == 0 || theirs.Protocol != ours.Protocol:
		return fmt.Sprintf("port %s (%s)", theirs.Port, theirs.Protocol)
	}
	var met []string
	for _, host := range theirs.Hostnames {
		if slices.ContainsFunc(ours.Hostnames, func(h string) bool { return hostsMeet(host, h) }) {
			met = append(met, host)
		}
	}
	if len(met) == 0 {
		return ""
	}
	if more := len(met) - mostHosts; more > 0 {
		met = append(met[:mostHosts], fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("hostname %s at port %s", strings.Join(met, ", "), theirs.Port)
}

// mostHosts bounds how many hostnames one message names.
const mostHosts = 5

func wayOut(theirs, ours Listener) string {
	if len(theirs.Hostnames) > 0 && len(ours.Hostnames) > 0 && theirs.Protocol == ours.Protocol {
		return "take the hostname out of one of the two"
	}
	return "take another port"
}

// hostsMeet tells whether some name is served by both: the same hostname, or a wildcard and a name below it.
func hostsMeet(a, b string) bool {
	return strings.EqualFold(a, b) || below(a, b) || below(b, a)
}

// below tells whether host, or every name of it, lies under a wildcard.
func below(wildcard, host string) bool {
	suffix, ok := strings.CutPrefix(strings.ToLower(wildcard), "*")
	return ok && strings.HasSuffix(strings.ToLower(host), suffix)
}
