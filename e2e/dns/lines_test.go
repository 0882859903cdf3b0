//go:build dns

package dns

import (
	"fmt"
	"maps"
	"slices"

	"offramp.dev/dnsctl"
)

// zoneLines writes record sets as lines of a zone file.
func zoneLines(initial map[string]dnsctl.RecordSet) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(initial)) {
		for kind, set := range map[string]dnsctl.RRset{"A": initial[name].A, "AAAA": initial[name].AAAA} {
			for _, address := range set.Addresses {
				out = append(out, fmt.Sprintf("%s. %d IN %s %s", name, set.TTL, kind, address))
			}
		}
	}
	slices.Sort(out)
	return out
}
