package gatewaydouble

import (
	"cmp"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"offramp.dev/e2e/gatewaydouble/plane"
)

// table is what the data plane is to serve. A port that two Gateways remember is the first one's.
func (v *view) table() plane.Table {
	out, owners := plane.Table{}, map[uint16]*served{}
	for _, g := range v.gateways {
		if !g.refused.good() {
			continue
		}
		for _, l := range g.listeners {
			if owner, taken := owners[l.port]; l.port == 0 || !l.valid() || (taken && owner != g) {
				continue
			}
			owners[l.port] = g
			p := out[l.port]
			p.Kind = planeKind(l.spec.Protocol)
			p.Listeners = append(p.Listeners, plane.Listener{Hostname: l.hostname(), Rules: v.rules(l)})
			out[l.port] = p
		}
	}
	return out
}

func planeKind(p gatewayv1.ProtocolType) plane.Kind {
	if p == gatewayv1.TCPProtocolType {
		return plane.TCP
	}
	return plane.HTTP
}

// rules are those of the routes at a listener in the order in which they are asked: the more specific hostname, the exact
// path, the longer path, then the older route (HTTPRoute, spec.rules.matches).
func (v *view) rules(l *listener) []plane.Rule {
	out := []plane.Rule{}
	for _, r := range l.attached {
		for _, rule := range r.rules {
			out = append(out, v.expand(r, rule)...)
		}
	}
	slices.SortStableFunc(out, func(a, b plane.Rule) int {
		return cmp.Or(
			cmp.Compare(plane.Specificity(b.Hostname), plane.Specificity(a.Hostname)),
			cmp.Compare(rank(b.Path), rank(a.Path)),
			cmp.Compare(len(b.Path.Value), len(a.Path.Value)),
		)
	})
	return out
}

func rank(p plane.Path) int {
	if p.Exact {
		return 1
	}
	return 0
}

// expand makes a rule for each hostname and path.
func (v *view) expand(r *route, rule routeRule) []plane.Rule {
	backends := make([]plane.Backend, 0, len(rule.backends))
	for _, ref := range rule.backends {
		backends = append(backends, v.backend(r, ref))
	}
	hostnames, paths := r.hostnames, rule.paths
	if len(hostnames) == 0 {
		hostnames = []gatewayv1.Hostname{""}
	}
	if len(paths) == 0 {
		paths = []plane.Path{{}}
	}
	out := []plane.Rule{}
	for _, h := range hostnames {
		for _, p := range paths {
			out = append(out, plane.Rule{Hostname: string(h), Path: p, Backends: backends})
		}
	}
	return out
}
