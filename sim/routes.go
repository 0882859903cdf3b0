package sim

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// anyRoute is what the emulated Gateway implementation needs of a route of any kind.
type anyRoute struct {
	object    client.Object
	kind      string
	namespace string
	hosts     []string
	parents   []gatewayv1.ParentReference
	status    *gatewayv1.RouteStatus
}

// routes lists the stored routes of every kind, as copies, in order.
func routes(c *cache) []anyRoute {
	var out []anyRoute
	for _, kind := range []string{"HTTPRoute", "TCPRoute", "TLSRoute"} {
		for _, obj := range sortedObjects(c, schema.GroupKind{Group: gatewayv1.GroupName, Kind: kind}) {
			if r, ok := routeOf(obj); ok && obj.GetDeletionTimestamp() == nil {
				out = append(out, r)
			}
		}
	}
	return out
}

func routeOf(obj client.Object) (anyRoute, bool) {
	switch stored := obj.(type) {
	case *gatewayv1.HTTPRoute:
		r := stored.DeepCopy()
		return anyRoute{r, "HTTPRoute", r.Namespace, hostTexts(r.Spec.Hostnames), r.Spec.ParentRefs, &r.Status.RouteStatus}, true
	case *gatewayv1.TLSRoute:
		r := stored.DeepCopy()
		return anyRoute{r, "TLSRoute", r.Namespace, hostTexts(r.Spec.Hostnames), r.Spec.ParentRefs, &r.Status.RouteStatus}, true
	case *gatewayv1.TCPRoute:
		r := stored.DeepCopy()
		return anyRoute{r, "TCPRoute", r.Namespace, nil, r.Spec.ParentRefs, &r.Status.RouteStatus}, true
	}
	return anyRoute{}, false
}

func hostTexts(in []gatewayv1.Hostname) []string {
	out := make([]string, 0, len(in))
	for _, h := range in {
		out = append(out, string(h))
	}
	return out
}

// refersTo tells whether p means gw.
func (r anyRoute) refersTo(p gatewayv1.ParentReference, gw *gatewayv1.Gateway) bool {
	namespace := r.namespace
	if p.Namespace != nil {
		namespace = string(*p.Namespace)
	}
	return string(p.Name) == gw.Name && namespace == gw.Namespace
}

func (r anyRoute) attaches(gw *gatewayv1.Gateway, l gatewayv1.Listener) bool {
	return slices.ContainsFunc(r.parents, func(p gatewayv1.ParentReference) bool {
		return r.refersTo(p, gw) && (p.SectionName == nil || *p.SectionName == l.Name) && (p.Port == nil || *p.Port == l.Port)
	}) && protocolFits(r.kind, l.Protocol)
}

func protocolFits(kind string, p gatewayv1.ProtocolType) bool {
	switch kind {
	case "HTTPRoute":
		return p == gatewayv1.HTTPProtocolType || p == gatewayv1.HTTPSProtocolType
	case "TLSRoute":
		return p == gatewayv1.TLSProtocolType
	case "TCPRoute":
		return p == gatewayv1.TCPProtocolType
	}
	return false
}

// selects judges a namespace selector by the label that the API server sets on every namespace: its name.
func selects(s *metav1.LabelSelector, namespace string) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set{"kubernetes.io/metadata.name": namespace})
}

func nameKey(name string) types.NamespacedName { return types.NamespacedName{Name: name} }
