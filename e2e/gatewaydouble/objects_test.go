package gatewaydouble

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// gatewayOf is a Gateway of the double's namespace.
func gatewayOf(class, name string, listeners ...gatewayv1.Listener) *gatewayv1.Gateway {
	return &gatewayv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: ours, Name: name, UID: types.UID("uid-" + name), Generation: 3},
		Spec: gatewayv1.GatewaySpec{
			GatewayClassName: gatewayv1.ObjectName(class), Listeners: listeners,
			Infrastructure: &gatewayv1.GatewayInfrastructure{
				Labels:      map[gatewayv1.LabelKey]gatewayv1.LabelValue{"team": "edge"},
				Annotations: map[gatewayv1.AnnotationKey]gatewayv1.AnnotationValue{annotationAddresses: "198.51.100.10"},
			},
		},
	}
}

// listen is a listener that takes routes of every namespace, unless change says otherwise.
func listen(name string, port int32, protocol gatewayv1.ProtocolType, change ...func(*gatewayv1.Listener)) gatewayv1.Listener {
	l := gatewayv1.Listener{Name: gatewayv1.SectionName(name), Port: port, Protocol: protocol}
	l.AllowedRoutes = &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{From: new(gatewayv1.NamespacesFromAll)}}
	for _, f := range change {
		f(&l)
	}
	return l
}

func hostname(name string) func(*gatewayv1.Listener) {
	return func(l *gatewayv1.Listener) { l.Hostname = new(gatewayv1.Hostname(name)) }
}

func parent(gateway, section string) gatewayv1.ParentReference {
	ref := gatewayv1.ParentReference{Namespace: new(gatewayv1.Namespace(ours)), Name: gatewayv1.ObjectName(gateway)}
	if section != "" {
		ref.SectionName = new(gatewayv1.SectionName(section))
	}
	return ref
}

func refTo(service string, port int32) gatewayv1.BackendRef {
	return gatewayv1.BackendRef{BackendObjectReference: gatewayv1.BackendObjectReference{Name: gatewayv1.ObjectName(service), Port: &port}}
}

// httpOf is an HTTPRoute of the tenant.
func httpOf(name string, ref gatewayv1.ParentReference, hostnames []gatewayv1.Hostname, backends ...gatewayv1.BackendRef) *gatewayv1.HTTPRoute {
	rule := gatewayv1.HTTPRouteRule{}
	for _, b := range backends {
		rule.BackendRefs = append(rule.BackendRefs, gatewayv1.HTTPBackendRef{BackendRef: b})
	}
	return &gatewayv1.HTTPRoute{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: name, Generation: 5},
		Spec: gatewayv1.HTTPRouteSpec{
			CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{ref}},
			Hostnames:       hostnames, Rules: []gatewayv1.HTTPRouteRule{rule},
		},
	}
}

// tcpOf is a TCPRoute of the tenant.
func tcpOf(name string, ref gatewayv1.ParentReference) *gatewayv1.TCPRoute {
	return &gatewayv1.TCPRoute{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: name, Generation: 7},
		Spec: gatewayv1.TCPRouteSpec{
			CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{ref}},
			Rules:           []gatewayv1.TCPRouteRule{{BackendRefs: []gatewayv1.BackendRef{refTo("db", 5432)}}},
		},
	}
}

func service(namespace, name string, ports ...corev1.ServicePort) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.ServiceSpec{Ports: ports}}
}

// slice has the endpoints of a Service port, ready or not.
func slice(svc *corev1.Service, port string, ready bool, endpoints ...netip.AddrPort) []client.Object {
	out := []client.Object{}
	for i, e := range endpoints {
		out = append(out, &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: svc.Namespace, Name: fmt.Sprintf("%s-%s-%t-%d", svc.Name, port, ready, i),
				Labels: map[string]string{discoveryv1.LabelServiceName: svc.Name},
			},
			AddressType: discoveryv1.AddressTypeIPv4,
			Ports:       []discoveryv1.EndpointPort{{Name: &port, Port: new(int32(e.Port())), Protocol: new(corev1.ProtocolTCP)}},
			Endpoints: []discoveryv1.Endpoint{{
				Addresses: []string{e.Addr().String()}, Conditions: discoveryv1.EndpointConditions{Ready: &ready},
			}},
		})
	}
	return out
}
