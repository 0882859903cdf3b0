package sim

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
)

// Tuple is one address, port and protocol.
type Tuple struct {
	Address  netip.Addr
	Port     int32
	Protocol string
}

// datapath emulates kube-proxy's rules and a Gateway's listeners: which tuples are served now, and by what. It is made
// anew from the stored objects whenever one of them changes.
type datapath struct {
	bound map[Tuple][]binding
	// broken addresses take no connection: a fault.
	broken map[netip.Addr]bool
}

// binding is one Service behind a tuple. proxied: it is a Gateway's, and the hosts of its listener decide.
type binding struct {
	service string
	proxied bool
	hosts   []string
}

func newDatapath() *datapath {
	return &datapath{bound: map[Tuple][]binding{}, broken: map[netip.Addr]bool{}}
}

// rebuild reads the rules off the objects.
func (d *datapath) rebuild(c *cache) {
	d.bound = map[Tuple][]binding{}
	for _, obj := range sortedObjects(c, serviceKind) {
		svc, ok := obj.(*corev1.Service)
		if !ok || svc.DeletionTimestamp != nil {
			continue
		}
		for _, a := range attracted(svc) {
			d.bind(c, svc, a)
		}
	}
}

func (d *datapath) bind(c *cache, svc *corev1.Service, a netip.Addr) {
	gateways := behind(c, svc)
	for _, p := range svc.Spec.Ports {
		t := Tuple{a, p.Port, protocolOf(p)}
		b := binding{service: svc.Namespace + "/" + svc.Name, proxied: gateways != nil}
		for _, gw := range gateways {
			b.hosts = append(b.hosts, listenerHosts(c, gw, p.Port)...)
		}
		if b.proxied && len(b.hosts) == 0 {
			continue
		}
		d.bound[t] = append(d.bound[t], b)
	}
}

// attracted are the addresses for which kube-proxy has rules: externalIPs, and the ingress of a LoadBalancer. It reads
// old spellings (leading zeros, IPv4-mapped) as the address they mean.
func attracted(svc *corev1.Service) []netip.Addr {
	if svc.Spec.Type == corev1.ServiceTypeExternalName || svc.Spec.ClusterIP == corev1.ClusterIPNone {
		return nil
	}
	texts := slices.Clone(svc.Spec.ExternalIPs)
	for _, in := range svc.Status.LoadBalancer.Ingress {
		texts = append(texts, in.IP)
	}
	var out []netip.Addr
	for _, t := range texts {
		if a, _, err := addresspool.Canonical(t); err == nil && !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}

// dial is one connect attempt, no retry.
func (d *datapath) dial(t Tuple, host string) (binding, bool) {
	if d.broken[t.Address] {
		return binding{}, false
	}
	for _, b := range d.bound[t] {
		if !b.proxied || slices.ContainsFunc(b.hosts, func(h string) bool { return hostMatches(h, host) }) {
			return b, true
		}
	}
	return binding{}, false
}

// alive tells whether an established connection over b still has its way. Established connections outlive the removal
// of a Service's rules (kube-proxy's nftables and iptables modes), not that of a proxy.
func (d *datapath) alive(t Tuple, b binding) bool {
	if !b.proxied {
		return true
	}
	return slices.ContainsFunc(d.bound[t], func(x binding) bool { return x.service == b.service })
}

// behind are the Gateways whose data plane a Service is: the one it was generated for, or, for a static Service, all of
// the class. Not nil but empty: a data plane that serves no Gateway yet.
func behind(c *cache, svc *corev1.Service) []*gatewayv1.Gateway {
	name, class := svc.Labels[labelGatewayName], staticClass(c, svc)
	if name == "" && class == "" {
		return nil
	}
	out := []*gatewayv1.Gateway{}
	for _, obj := range sortedObjects(c, gatewayKind) {
		gw, ok := obj.(*gatewayv1.Gateway)
		if !ok || gw.DeletionTimestamp != nil {
			continue
		}
		generated := gw.Name == name && gw.Namespace == svc.Namespace
		if generated || class != "" && string(gw.Spec.GatewayClassName) == class {
			out = append(out, gw)
		}
	}
	return out
}

// staticClass is the GatewayClass that a policy says svc serves.
func staticClass(c *cache, svc *corev1.Service) string {
	for _, obj := range sortedObjects(c, policyKind) {
		p, ok := obj.(*v1alpha1.MigrationPolicy)
		if !ok || p.Spec.Gateway == nil || p.Spec.Gateway.StaticService == nil {
			continue
		}
		if s := p.Spec.Gateway.StaticService; s.Namespace == svc.Namespace && s.Name == svc.Name {
			return p.Spec.Gateway.ClassName
		}
	}
	return ""
}

// listenerHosts are the hosts that a Gateway serves on one port: the hostnames of the routes attached to its listeners
// there, "*" where a route or a TCP listener has none.
func listenerHosts(c *cache, gw *gatewayv1.Gateway, port int32) []string {
	var hosts []string
	for _, l := range gw.Spec.Listeners {
		if l.Port == port {
			hosts = append(hosts, attachedHosts(c, gw, l)...)
		}
	}
	return hosts
}

func attachedHosts(c *cache, gw *gatewayv1.Gateway, l gatewayv1.Listener) []string {
	var hosts []string
	for _, r := range routes(c) {
		if !r.attaches(gw, l) || !admits(gw, l, r.namespace) {
			continue
		}
		switch {
		case len(r.hosts) > 0:
			hosts = append(hosts, r.hosts...)
		case l.Hostname != nil:
			hosts = append(hosts, string(*l.Hostname))
		default:
			hosts = append(hosts, "*")
		}
	}
	return hosts
}

// admits is allowedRoutes: the same namespace by default, all, or those whose name a selector states.
func admits(gw *gatewayv1.Gateway, l gatewayv1.Listener, namespace string) bool {
	if l.AllowedRoutes == nil || l.AllowedRoutes.Namespaces == nil || l.AllowedRoutes.Namespaces.From == nil {
		return namespace == gw.Namespace
	}
	switch ns := l.AllowedRoutes.Namespaces; *ns.From {
	case gatewayv1.NamespacesFromAll:
		return true
	case gatewayv1.NamespacesFromSelector:
		return ns.Selector != nil && selects(ns.Selector, namespace)
	case gatewayv1.NamespacesFromSame:
		return namespace == gw.Namespace
	case gatewayv1.NamespacesFromNone:
		return false
	}
	return false
}

func hostMatches(pattern, host string) bool {
	if pattern == "*" || strings.EqualFold(pattern, host) {
		return true
	}
	suffix, wild := strings.CutPrefix(pattern, "*")
	return wild && strings.HasSuffix(host, suffix)
}

func portText(p corev1.ServicePort) string { return fmt.Sprintf("%s/%d", protocolOf(p), p.Port) }

func protocolOf(p corev1.ServicePort) string {
	if p.Protocol == "" {
		return string(corev1.ProtocolTCP)
	}
	return string(p.Protocol)
}

const labelGatewayName = "gateway.networking.k8s.io/gateway-name"

var (
	serviceKind = schema.GroupKind{Kind: "Service"}
	policyKind  = schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: "MigrationPolicy"}
	nodeKind    = schema.GroupKind{Kind: "Node"}
	gatewayKind = schema.GroupKind{Group: gatewayv1.GroupName, Kind: "Gateway"}
	classKind   = schema.GroupKind{Group: gatewayv1.GroupName, Kind: "GatewayClass"}
)
