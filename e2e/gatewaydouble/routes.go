package gatewaydouble

import (
	"cmp"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"offramp.dev/e2e/gatewaydouble/plane"
)

// route is an HTTPRoute or a TCPRoute.
type route struct {
	client.Object

	kind      string
	parents   []gatewayv1.ParentReference
	hostnames []gatewayv1.Hostname
	rules     []routeRule
	// status is the object's own.
	status *gatewayv1.RouteStatus
	// unsupported is what the route asks for that the double does not do, or "".
	unsupported string
}

type routeRule struct {
	paths    []plane.Path
	backends []gatewayv1.BackendRef
}

// routes are all routes that live, the oldest first: it wins where routes compete (Gateway API, conflict resolution).
func (w *world) routes() []*route {
	out := []*route{}
	for i := range w.httpRoutes.Items {
		out = append(out, httpRoute(&w.httpRoutes.Items[i]))
	}
	for i := range w.tcpRoutes.Items {
		out = append(out, tcpRoute(&w.tcpRoutes.Items[i]))
	}
	out = slices.DeleteFunc(out, func(r *route) bool { return r.GetDeletionTimestamp() != nil })
	slices.SortFunc(out, func(a, b *route) int {
		return cmp.Or(
			a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time),
			cmp.Compare(a.GetNamespace(), b.GetNamespace()),
			cmp.Compare(a.GetName(), b.GetName()),
			cmp.Compare(a.kind, b.kind),
		)
	})
	return out
}

func (r *route) String() string { return r.kind + " " + r.GetNamespace() + "/" + r.GetName() }

func tcpRoute(o *gatewayv1.TCPRoute) *route {
	r := &route{Object: o, kind: kindTCPRoute, parents: o.Spec.ParentRefs, status: &o.Status.RouteStatus}
	for _, rule := range o.Spec.Rules {
		r.rules = append(r.rules, routeRule{backends: rule.BackendRefs})
	}
	return r
}

func httpRoute(o *gatewayv1.HTTPRoute) *route {
	r := &route{
		Object: o, kind: kindHTTPRoute, parents: o.Spec.ParentRefs, hostnames: o.Spec.Hostnames,
		status: &o.Status.RouteStatus, unsupported: unsupported(o.Spec.Rules),
	}
	for _, rule := range o.Spec.Rules {
		converted := routeRule{}
		for _, m := range rule.Matches {
			converted.paths = append(converted.paths, pathOf(m.Path))
		}
		if len(rule.Matches) == 0 {
			converted.paths = []plane.Path{{Value: "/"}} // the default of the field
		}
		for _, b := range rule.BackendRefs {
			converted.backends = append(converted.backends, b.BackendRef)
		}
		r.rules = append(r.rules, converted)
	}
	return r
}

func pathOf(m *gatewayv1.HTTPPathMatch) plane.Path {
	path := plane.Path{Value: "/"}
	if m == nil {
		return path
	}
	if m.Value != nil {
		path.Value = *m.Value
	}
	path.Exact = m.Type != nil && *m.Type == gatewayv1.PathMatchExact
	return path
}

// unsupported names the first thing that would have to be left out.
func unsupported(rules []gatewayv1.HTTPRouteRule) string {
	for _, rule := range rules {
		if len(rule.Filters) > 0 || slices.ContainsFunc(rule.BackendRefs, hasFilters) {
			return "spec.rules.filters: this double has no filters"
		}
		if rule.Timeouts != nil || rule.Retry != nil || rule.SessionPersistence != nil {
			return "spec.rules: this double has no timeouts, retries or session persistence"
		}
		if slices.ContainsFunc(rule.Matches, matchesMoreThanPath) {
			return "spec.rules.matches: this double matches exact paths and path prefixes only"
		}
	}
	return ""
}

func hasFilters(b gatewayv1.HTTPBackendRef) bool { return len(b.Filters) > 0 }

func matchesMoreThanPath(m gatewayv1.HTTPRouteMatch) bool {
	regular := m.Path != nil && m.Path.Type != nil && *m.Path.Type == gatewayv1.PathMatchRegularExpression
	return regular || m.Method != nil || len(m.Headers) > 0 || len(m.QueryParams) > 0
}
