package inventory

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
)

// value is one element of spec.externalIPs.
type value struct {
	text   string
	addr   netip.Addr // invalid where text is no address
	strict bool
	err    error
	// again: an earlier element of the list is the same address.
	again bool
	// wrongFamily: the Service has no such IP family, so no proxy serves the value.
	wrongFamily bool
}

func (v value) live() bool { return v.addr.IsValid() && !v.again && !v.wrongFamily }

// member is one Service with the field, parsed once.
type member struct {
	svc    *corev1.Service
	key    string
	policy *v1alpha1.MigrationPolicy
	values []value
	// addresses that carry traffic, in order, each once.
	addresses []netip.Addr
	set       map[netip.Addr]bool
	ports     []string
	// cleanUp says why the field can simply go, or "". redundant: because the load balancer serves the same addresses.
	cleanUp   string
	redundant bool

	names, badNames, deadNames, refusedNames []string
	tooManyNames                             int
}

func (m *member) has(a netip.Addr) bool { return m.set[a] }

func (m *member) object() string { return "Service " + m.key }

// members are the Services that use the field, sorted by key. An empty list is no use: charts print it by default.
func (w *world) members(services []*corev1.Service) []*member {
	var out []*member
	for _, svc := range services {
		if len(svc.Spec.ExternalIPs) > 0 {
			out = append(out, w.member(svc))
		}
	}
	w.resolveNames(out)
	return out
}

func (w *world) member(svc *corev1.Service) *member {
	m := &member{
		svc: svc, key: keyOf(svc), set: map[netip.Addr]bool{}, ports: sortedPorts(svc),
		policy: w.policies[svc.Annotations[v1alpha1.AnnotationPolicy]],
	}
	m.parse(w)
	m.cleanUp, m.redundant = useless(m)
	return m
}

func (m *member) parse(w *world) {
	four, six, known := families(m.svc)
	if !known && w.four != w.six { // the cluster has one family to give
		four, six, known = w.four, w.six, true
	}
	seen := make(map[netip.Addr]bool, len(m.svc.Spec.ExternalIPs))
	for _, text := range m.svc.Spec.ExternalIPs {
		v := value{text: text}
		v.addr, v.strict, v.err = addresspool.Canonical(text)
		if v.err == nil {
			v.again = seen[v.addr]
			v.wrongFamily = known && (v.addr.Is4() && !four || v.addr.Is6() && !six)
			seen[v.addr] = true
		}
		m.values = append(m.values, v)
		if v.live() {
			m.addresses = append(m.addresses, v.addr)
			m.set[v.addr] = true
		}
	}
}

// families are those of the Service; not known for a manifest that leaves the choice to the cluster.
func families(svc *corev1.Service) (four, six, known bool) {
	for _, f := range svc.Spec.IPFamilies {
		four = four || f == corev1.IPv4Protocol
		six = six || f == corev1.IPv6Protocol
	}
	for _, text := range clusterIPs(svc) {
		if a, _, err := addresspool.Canonical(text); err == nil {
			four = four || a.Is4()
			six = six || a.Is6()
		}
	}
	return four, six, four || six
}

func clusterIPs(svc *corev1.Service) []string {
	return append([]string{svc.Spec.ClusterIP}, svc.Spec.ClusterIPs...)
}

// useless says why the field of a Service can be removed without moving anything, or "".
func useless(m *member) (why string, redundant bool) {
	switch {
	case m.svc.Spec.Type == corev1.ServiceTypeExternalName:
		return "the Service is of type ExternalName, for which no proxy serves externalIPs", false
	case m.svc.Spec.ClusterIP == corev1.ClusterIPNone:
		return "the Service is headless, for which no proxy serves externalIPs", false
	case len(m.addresses) == 0 && slices.ContainsFunc(m.values, func(v value) bool { return v.wrongFamily }) && !m.hasBad():
		return "the Service has no IP family of its externalIPs, so no proxy serves them", false
	case len(m.addresses) == 0 || m.hasBad() || m.svc.Spec.Type != corev1.ServiceTypeLoadBalancer:
		return "", false
	}
	held := balancerAddresses(m.svc)
	if slices.ContainsFunc(m.addresses, func(a netip.Addr) bool { return !slices.Contains(held, a) }) {
		return "", false
	}
	if !isLive(m.svc) {
		return "it asks its load balancer for the same addresses", true
	}
	return "its load balancer serves the same addresses", true
}

func (m *member) hasBad() bool {
	return slices.ContainsFunc(m.values, func(v value) bool { return v.err != nil })
}

// balancerAddresses are those that the Service's load balancer serves. For a live Service only its status counts: a wish
// that no controller fulfills serves nobody, and there externalIPs are what works. A manifest has no status to ask.
func balancerAddresses(svc *corev1.Service) []netip.Addr {
	if isLive(svc) {
		return ingressAddresses(svc)
	}
	texts := []string{svc.Spec.LoadBalancerIP}
	texts = append(texts, strings.Split(svc.Annotations[addresspool.PinAnnotation], ",")...)
	out := ingressAddresses(svc)
	for _, text := range texts {
		if a, _, err := addresspool.Canonical(strings.TrimSpace(text)); err == nil {
			out = append(out, a)
		}
	}
	return out
}

// isLive tells an object that an API server returned from a manifest.
func isLive(svc *corev1.Service) bool { return svc.UID != "" || !svc.CreationTimestamp.IsZero() }

// ingressAddresses are those of status.loadBalancer that a node proxy serves (ipMode VIP).
func ingressAddresses(svc *corev1.Service) []netip.Addr {
	var out []netip.Addr
	for _, in := range svc.Status.LoadBalancer.Ingress {
		if in.IPMode != nil && *in.IPMode != corev1.LoadBalancerIPModeVIP {
			continue
		}
		if a, _, err := addresspool.Canonical(in.IP); err == nil {
			out = append(out, a)
		}
	}
	return out
}

// keyOf is "ns/name"; a manifest without a namespace means default.
func keyOf(svc *corev1.Service) string {
	return cmp.Or(svc.Namespace, "default") + "/" + svc.Name
}

func namespaceOf(m *member) string { return cmp.Or(m.svc.Namespace, "default") }
