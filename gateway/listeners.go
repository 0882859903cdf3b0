package gateway

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/inventory"
)

// Kinds and versions of the Gateway API (v1.6).
const (
	groupGateway  = "gateway.networking.k8s.io"
	kindGateway   = "Gateway"
	kindHTTPRoute = "HTTPRoute"
	kindTLSRoute  = "TLSRoute"
	kindTCPRoute  = "TCPRoute"
	kindService   = "Service"
	// maxListeners is the limit of the Gateway CRD.
	maxListeners = 64
	// maxRouteHostnames is the limit of HTTPRoute; a TLSRoute with as many needs as many of its 32 parentRefs.
	maxRouteHostnames = 16
)

// listener is one listener of the Gateway with the Service port behind it. host is "" for TCP and for a catch-all.
type listener struct {
	name, host string
	kind       inventory.PortKind
	svc        *corev1.Service
	port       corev1.ServicePort
}

// gateway makes one Gateway and a route per Service port, Gateway first.
func (c *conversion) gateway() []*unstructured.Unstructured {
	profile, ok := c.profile()
	if !ok {
		return nil
	}
	c.hosts = hostnames(c.report, c.in.EntryPoint, c.in.Hostnames)
	listeners := []listener{}
	for _, svc := range c.services {
		c.lostByGateway(svc)
		for _, port := range svc.Spec.Ports {
			listeners = append(listeners, c.listenersOf(profile, svc, port)...)
		}
	}
	if len(listeners) > maxListeners {
		c.block(ReasonTooManyListeners, "EntryPoint "+c.in.EntryPoint,
			"it needs "+strconv.Itoa(len(listeners))+" listeners (ports times hostnames), and a Gateway holds at most 64",
			"split the entry point with spec.members, use a wildcard hostname, or choose spec.strategy LoadBalancer")
	}
	if c.blocked() {
		return nil
	}
	return append([]*unstructured.Unstructured{c.gatewayObject(profile, listeners)}, c.routes(listeners)...)
}

// profile checks settings and profile of the class.
func (c *conversion) profile() (Profile, bool) {
	s := c.in.Settings
	const object = "MigrationPolicy spec.gateway"
	if s == nil || len(validation.IsDNS1123Subdomain(s.ClassName)) > 0 || len(validation.IsDNS1123Label(s.Namespace)) > 0 {
		c.block(ReasonNoGatewaySettings, object, "the policy does not say, with legal names, which GatewayClass to use and in which namespace",
			"set spec.gateway.className and spec.gateway.namespace in the policy")
		return Profile{}, false
	}
	profile := adjust(c.in.Profile, s)
	switch profile.Binding {
	case v1alpha1.BindingAnnotation:
		c.pinnedByAnnotation(profile)
	case v1alpha1.BindingStaticService:
		c.pinnedByService(s)
	default:
		c.block(ReasonUnknownGatewayClass, "GatewayClass "+s.ClassName+" spec.controllerName",
			"nothing is known about how controller "+shown(profile.ControllerName)+" binds a Gateway to an address",
			"set spec.gateway.profile in the policy to Annotation or StaticService")
		return Profile{}, false
	}
	return profile, true
}

func (c *conversion) pinnedByAnnotation(profile Profile) {
	if profile.PrefersDualStack && len(c.addresses) == 1 {
		c.note("Gateway "+c.in.Settings.Namespace+"/"+Name(c.in.EntryPoint), "spec.infrastructure.annotations",
			"on a dual-stack cluster this implementation makes a Service of both families, for which MetalLB refuses one address; "+
				"make its Services single-stack first")
	}
}

func (c *conversion) pinnedByService(s *v1alpha1.GatewaySettings) {
	if s.StaticService == nil || s.StaticService.Name == "" || s.StaticService.Namespace == "" {
		c.block(ReasonNoStaticService, "MigrationPolicy spec.gateway.staticService",
			"the implementation serves every Gateway on one Service, and the policy does not name it",
			"set spec.gateway.staticService to the Service of type LoadBalancer that the implementation runs behind")
		return
	}
	c.note("Service "+s.StaticService.Namespace+"/"+s.StaticService.Name, "status.loadBalancer",
		"the address is what this Service holds; Offramp reads it and does not change it")
}

// listenersOf makes the listeners of one Service port: one for TCP, one per hostname for HTTP and TLS.
func (c *conversion) listenersOf(profile Profile, svc *corev1.Service, port corev1.ServicePort) []listener {
	kind := inventory.KindOf(port, c.in.Settings.HTTPPorts)
	base := listener{name: strings.ToLower(string(kind)) + "-" + strconv.Itoa(int(port.Port)), kind: kind, svc: svc, port: port}
	if !c.portFits(profile, base) {
		return nil
	}
	if kind == inventory.PortTCP || (len(c.hosts) == 0 && kind == inventory.PortHTTP) {
		return []listener{base}
	}
	out := make([]listener, 0, len(c.hosts))
	for _, host := range c.hosts {
		l := base
		l.host, l.name = host, listenerName(base.name, host)
		out = append(out, l)
	}
	return out
}

// listenerName stays a DNS label, because implementations name ports of Services after listeners. Two hostnames may
// look the same without their dots, so the hash decides.
func listenerName(base, host string) string {
	return withHash(base+"-"+strings.TrimPrefix(host, "*."), digest(host), validation.DNS1123LabelMaxLength)
}

// portFits reports what stands in the way of a listener.
func (c *conversion) portFits(profile Profile, l listener) bool {
	object := objectOf(l.svc) + " spec.ports " + portText(l.port)
	kind := routeKind(l.kind)
	switch {
	case kind == "":
		c.block(ReasonProtocolNeedsLoadBalancer, object, "routes are made for HTTP, TLS and TCP only",
			"set spec.strategy of the entry point to LoadBalancer")
	case !profile.serves(kind) || (kind == kindTCPRoute && !c.tcpRouteServed()):
		c.block(ReasonRouteNotServed, object, "it needs a "+kind+", which the cluster or the implementation does not serve",
			"install the Gateway API's "+kind+" and an implementation that serves it, or set spec.strategy to LoadBalancer")
	case len(profile.Ports) > 0 && !slices.Contains(profile.Ports, l.port.Port):
		c.block(ReasonPortNotServed, object, "the Service that the implementation runs behind has no such port",
			"add the port to that Service and to the implementation, or set spec.strategy to LoadBalancer")
	case len(c.hosts) == 0 && (l.kind == inventory.PortTLS || (l.kind == inventory.PortHTTP && profile.Merges)):
		c.block(ReasonNoHostname, object, "entry points that share this port are told apart by hostname, and there is none",
			"name the hosts in annotation "+v1alpha1.AnnotationHostnames+" and in a zone of the policy, or set spec.strategy to LoadBalancer")
	default:
		c.exclusive(profile, l, object)
		return true
	}
	return false
}

// exclusive asks: whether another Gateway on the shared data plane has the port is not visible from one entry point.
func (c *conversion) exclusive(profile Profile, l listener, object string) {
	if l.kind == inventory.PortTCP && profile.Merges {
		c.ask(ReasonPortExclusive, object, "all Gateways of the class share one data plane, so no other entry point may use this port on it",
			"check the listeners of the class's other Gateways, then approve; or set spec.strategy to LoadBalancer")
	}
}

// tcpRouteServed is false for a version that nobody knows: an object of it could never be applied.
func (c *conversion) tcpRouteServed() bool {
	return c.in.TCPRouteVersion == "v1" || c.in.TCPRouteVersion == "v1alpha2"
}

// routeKind is "" for what becomes no route.
func routeKind(kind inventory.PortKind) string {
	switch kind {
	case inventory.PortHTTP:
		return kindHTTPRoute
	case inventory.PortTLS:
		return kindTLSRoute
	case inventory.PortTCP:
		return kindTCPRoute
	case inventory.PortUDP, inventory.PortSCTP:
	}
	return ""
}
