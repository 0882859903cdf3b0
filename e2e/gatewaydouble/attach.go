package gatewaydouble

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"offramp.dev/e2e/gatewaydouble/plane"
)

// answer is what a route is told about one of its parents.
type answer struct {
	ref     gatewayv1.ParentReference
	refused verdict
}

// attach enters a route at every listener that takes it. Parents that are no Gateways of ours get no answer.
func (v *view) attach(r *route) []answer {
	out := []answer{}
	for _, ref := range r.parents {
		g := v.parent(r, ref)
		if g == nil {
			continue
		}
		found, refused := v.accepts(g, r, ref)
		for _, l := range found {
			l.attached = append(l.attached, r)
		}
		out = append(out, answer{ref, refused})
	}
	return out
}

func (v *view) parent(r *route, ref gatewayv1.ParentReference) *served {
	if (ref.Group != nil && *ref.Group != gatewayv1.GroupName) || (ref.Kind != nil && *ref.Kind != kindGateway) {
		return nil
	}
	namespace := r.GetNamespace()
	if ref.Namespace != nil {
		namespace = string(*ref.Namespace)
	}
	at := slices.IndexFunc(v.gateways, func(g *served) bool { return g.Namespace == namespace && g.Name == string(ref.Name) })
	if at < 0 {
		return nil
	}
	return v.gateways[at]
}

// accepts finds the listeners that take a route, or the reason why none does: the furthest that it came with any.
func (v *view) accepts(g *served, r *route, ref gatewayv1.ParentReference) ([]*listener, verdict) {
	if !g.refused.good() {
		return nil, verdict{string(gatewayv1.RouteReasonNoMatchingParent), "the Gateway is not accepted: " + g.refused.message}
	}
	named := filter(g.listeners, func(l *listener) bool {
		return (ref.SectionName == nil || *ref.SectionName == l.spec.Name) && (ref.Port == nil || *ref.Port == l.spec.Port)
	})
	if len(named) == 0 {
		return nil, verdict{string(gatewayv1.RouteReasonNoMatchingParent), "no listener has this sectionName and port"}
	}
	allowed := filter(named, func(l *listener) bool {
		return l.valid() && slices.Contains(l.kinds, r.kind) && v.admits(l, g.Namespace, r.GetNamespace())
	})
	if len(allowed) == 0 {
		return nil, verdict{string(gatewayv1.RouteReasonNotAllowedByListeners), "no valid listener allows this kind of route from this namespace"}
	}
	meeting := filter(allowed, func(l *listener) bool { return r.meets(l.hostname()) })
	if len(meeting) == 0 {
		return nil, verdict{string(gatewayv1.RouteReasonNoMatchingListenerHostname), "no listener serves any of spec.hostnames"}
	}
	if r.unsupported != "" {
		return nil, verdict{string(gatewayv1.RouteReasonUnsupportedValue), r.unsupported}
	}
	return free(meeting, r)
}

// free leaves out TCP listeners that an older route has: one connection goes to one route.
func free(listeners []*listener, r *route) ([]*listener, verdict) {
	out := filter(listeners, func(l *listener) bool {
		return r.kind != kindTCPRoute || !slices.ContainsFunc(l.attached, func(other *route) bool { return other != r })
	})
	if len(out) == 0 {
		return nil, verdict{string(gatewayv1.RouteReasonNotAllowedByListeners), "an older route has the listener: " + listeners[0].attached[0].String()}
	}
	return filter(out, func(l *listener) bool { return !slices.Contains(l.attached, r) }), verdict{}
}

// admits asks allowedRoutes.namespaces. What cannot be read admits nobody.
func (v *view) admits(l *listener, gateway, route string) bool {
	from, selector := gatewayv1.NamespacesFromSame, (*metav1.LabelSelector)(nil)
	if l.spec.AllowedRoutes != nil && l.spec.AllowedRoutes.Namespaces != nil {
		ns := l.spec.AllowedRoutes.Namespaces
		selector = ns.Selector
		if ns.From != nil {
			from = *ns.From
		}
	}
	switch from {
	case gatewayv1.NamespacesFromAll:
		return true
	case gatewayv1.NamespacesFromSame:
		return gateway == route
	case gatewayv1.NamespacesFromSelector:
		asks, err := metav1.LabelSelectorAsSelector(selector) // nil selects nothing
		has := v.namespaceLabels(route)
		return err == nil && has != nil && asks.Matches(labels.Set(has))
	case gatewayv1.NamespacesFromNone:
	}
	return false
}

// meets tells whether a route has a host in common with a listener's hostname. Without hostnames it takes them all.
func (r *route) meets(hostname string) bool {
	return len(r.hostnames) == 0 || slices.ContainsFunc(r.hostnames, func(h gatewayv1.Hostname) bool {
		return plane.Covers(hostname, string(h)) || plane.Covers(string(h), hostname)
	})
}

func filter[T any](in []T, keep func(T) bool) []T {
	out := []T{}
	for _, x := range in {
		if keep(x) {
			out = append(out, x)
		}
	}
	return out
}
