package migration

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
)

// WatchedTuple is one address, port and protocol (TCP, UDP or SCTP) that agents watch.
type WatchedTuple struct {
	Address  netip.Addr
	Port     int32
	Protocol string
}

// String is the form that WatchedHash is made of: "203.0.113.10|80|TCP".
func (w WatchedTuple) String() string { return fmt.Sprintf("%s|%d|%s", w.Address, w.Port, w.Protocol) }

// Watched is what agents watch: every port of every holder in the ledger, sorted, once each. Rows and ports that cannot
// be read are left out; the API refuses them.
func Watched(claims []v1alpha1.AddressClaim) []WatchedTuple {
	set := map[WatchedTuple]bool{}
	for i := range claims {
		addr, _, err := addresspool.Canonical(claims[i].Spec.Address)
		if err != nil {
			continue
		}
		for _, h := range claims[i].Spec.Holders {
			for _, text := range h.Ports {
				if protocol, port, ok := parsePort(text); ok {
					set[WatchedTuple{Address: addr, Port: port, Protocol: protocol}] = true
				}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(set), func(a, b WatchedTuple) int {
		return cmp.Or(a.Address.Compare(b.Address), cmp.Compare(a.Port, b.Port), strings.Compare(a.Protocol, b.Protocol))
	})
}

// WatchedHash is the SHA-256 (hex) of the watched tuples, each followed by a line feed. An agent reports it, so that a
// tuple without a row means zero and not "not looked".
func WatchedHash(claims []v1alpha1.AddressClaim) string {
	var text strings.Builder
	for _, w := range Watched(claims) {
		text.WriteString(w.String() + "\n")
	}
	return digest([]byte(text.String()))
}
