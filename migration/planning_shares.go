package migration

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
)

// Ledger is what the plan claims: its rows, and with the address of a static Service what the plan's Gateway serves on
// it, so that other entry points may share the address. It is read off the plan's objects and not stored beside them: a
// plan that was approved keeps its hash.
func (p *Plan) Ledger() []addresspool.Claim {
	out := slices.Clone(p.Claims)
	for i := range out {
		if p.onStaticService(out[i]) {
			out[i].Listeners = p.listeners()
		}
	}
	return out
}

// onStaticService: a new address behind a Gateway whose Service is known by name. A generated Service has a name that only
// the implementation knows, and an address of its own.
func (p *Plan) onStaticService(c addresspool.Claim) bool {
	generated := slices.ContainsFunc(c.Holders, func(h addresspool.Holder) bool { return h.Name == AnyHolder })
	return p.Strategy == v1alpha1.StrategyGateway && c.Role == addresspool.New && len(c.Holders) > 0 && !generated
}

// listeners are what the plan's Gateway serves, by port. None, so that the claim is for the whole address, where the
// objects cannot be read.
func (p *Plan) listeners() []addresspool.Listener {
	var out []addresspool.Listener
	for _, text := range p.Objects {
		var gw gatewayv1.Gateway
		if err := json.Unmarshal(text, &gw); err != nil || gw.Kind != "Gateway" {
			continue
		}
		for i := range gw.Spec.Listeners {
			out = withListener(out, &gw.Spec.Listeners[i])
		}
	}
	slices.SortFunc(out, func(a, b addresspool.Listener) int {
		return cmp.Or(strings.Compare(a.Port, b.Port), strings.Compare(a.Protocol, b.Protocol))
	})
	return out
}

// withListener adds a listener's hostname to those of its port, each once, in order. One without hostname serves them all.
func withListener(list []addresspool.Listener, l *gatewayv1.Listener) []addresspool.Listener {
	port, protocol := fmt.Sprintf("TCP/%d", l.Port), string(l.Protocol)
	at := slices.IndexFunc(list, func(x addresspool.Listener) bool { return x.Port == port && x.Protocol == protocol })
	switch {
	case at < 0 && l.Hostname == nil:
		return append(list, addresspool.Listener{Port: port, Protocol: protocol})
	case at < 0:
		return append(list, addresspool.Listener{Port: port, Protocol: protocol, Hostnames: []string{string(*l.Hostname)}})
	case l.Hostname == nil || len(list[at].Hostnames) == 0:
		list[at].Hostnames = nil
		return list
	}
	list[at].Hostnames = append(list[at].Hostnames, string(*l.Hostname))
	slices.Sort(list[at].Hostnames)
	list[at].Hostnames = slices.Compact(list[at].Hostnames)
	return list
}
