package gateway

import (
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// hostnames brings names into the form that a listener holds (RFC 1123, lower case, no final dot), sorted and each once.
// What cannot be one is reported and left out.
func hostnames(r *report, entryPoint string, names []string) []string {
	legal := []string{}
	for _, name := range names {
		host := strings.TrimSuffix(strings.ToLower(name), ".")
		if !legalHostname(host) {
			r.block(ReasonBadHostname, "EntryPoint "+entryPoint+" hostnames",
				"the hostname "+shown(name)+" is no DNS name that a listener can hold",
				"correct the name in the annotation or the zone it comes from")
			continue
		}
		legal = append(legal, host)
	}
	slices.Sort(legal)
	return slices.Compact(legal)
}

// legalHostname follows the Gateway API type Hostname, and RFC 1035 for the length of a label, which the API server
// does not check. An address is no hostname: a client that dials one sends no SNI and no such Host.
func legalHostname(host string) bool {
	bare := strings.TrimPrefix(host, "*.")
	if _, err := netip.ParseAddr(bare); err == nil {
		return false
	}
	if len(host) > validation.DNS1123SubdomainMaxLength || len(validation.IsDNS1123Subdomain(bare)) > 0 {
		return false
	}
	for label := range strings.SplitSeq(bare, ".") {
		if len(label) > validation.DNS1123LabelMaxLength {
			return false
		}
	}
	return true
}
