package sim

import (
	"context"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// routes writes what the implementation says of every route: accepted by the listeners it names, or not.
func (g *gatewayImpl) routes(ctx context.Context) error {
	for _, r := range routes(g.cache) {
		before := r.status.DeepCopy()
		r.status.Parents = g.parents(r, before.Parents)
		if reflect.DeepEqual(before, r.status) {
			continue
		}
		if err := g.api.Status().Update(ctx, r.object); err != nil {
			return err
		}
	}
	return nil
}

func (g *gatewayImpl) parents(r anyRoute, before []gatewayv1.RouteParentStatus) []gatewayv1.RouteParentStatus {
	out := []gatewayv1.RouteParentStatus{}
	for _, p := range r.parents {
		gw := g.parent(r, p)
		if gw == nil {
			continue
		}
		profile, known := g.profile(gw)
		if !known {
			continue
		}
		s := gatewayv1.RouteParentStatus{ParentRef: p, ControllerName: gatewayv1.GatewayController(profile.ControllerName)}
		for _, old := range before {
			if reflect.DeepEqual(old.ParentRef, p) {
				s.Conditions = slices.Clone(old.Conditions)
			}
		}
		accepted, reason := g.accepts(r, p, gw)
		setCondition(&s.Conditions, string(gatewayv1.RouteConditionAccepted), accepted, reason, r.object.GetGeneration())
		resolved, why := g.resolves(r)
		setCondition(&s.Conditions, string(gatewayv1.RouteConditionResolvedRefs), resolved, why, r.object.GetGeneration())
		out = append(out, s)
	}
	return out
}

func (g *gatewayImpl) parent(r anyRoute, p gatewayv1.ParentReference) *gatewayv1.Gateway {
	for _, obj := range sortedObjects(g.cache, gatewayKind) {
		if gw, ok := obj.(*gatewayv1.Gateway); ok && r.refersTo(p, gw) {
			return gw
		}
	}
	return nil
}

func (g *gatewayImpl) accepts(r anyRoute, p gatewayv1.ParentReference, gw *gatewayv1.Gateway) (bool, string) {
	one := r
	one.parents = []gatewayv1.ParentReference{p}
	reason := string(gatewayv1.RouteReasonNoMatchingParent)
	for _, l := range gw.Spec.Listeners {
		if !one.attaches(gw, l) {
			continue
		}
		if admits(gw, l, r.namespace) {
			return true, string(gatewayv1.RouteReasonAccepted)
		}
		reason = string(gatewayv1.RouteReasonNotAllowedByListeners)
	}
	return false, reason
}

// resolves: every backend exists in the route's own namespace.
func (g *gatewayImpl) resolves(r anyRoute) (bool, string) {
	for _, b := range backends(r.object) {
		key := client.ObjectKey{Namespace: r.namespace, Name: string(b.Name)}
		if b.Namespace != nil && string(*b.Namespace) != r.namespace {
			return false, string(gatewayv1.RouteReasonRefNotPermitted)
		}
		if _, ok := g.cache.objects[serviceKind][key].(*corev1.Service); !ok {
			return false, string(gatewayv1.RouteReasonBackendNotFound)
		}
	}
	return true, string(gatewayv1.RouteReasonResolvedRefs)
}

func backends(obj metav1.Object) []gatewayv1.BackendRef {
	var out []gatewayv1.BackendRef
	switch r := obj.(type) {
	case *gatewayv1.HTTPRoute:
		for _, rule := range r.Spec.Rules {
			for _, b := range rule.BackendRefs {
				out = append(out, b.BackendRef)
			}
		}
	case *gatewayv1.TLSRoute:
		for _, rule := range r.Spec.Rules {
			out = append(out, rule.BackendRefs...)
		}
	case *gatewayv1.TCPRoute:
		for _, rule := range r.Spec.Rules {
			out = append(out, rule.BackendRefs...)
		}
	}
	return out
}
