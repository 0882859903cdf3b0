package gatewaydouble

import (
	"cmp"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"offramp.dev/e2e/gatewaydouble/plane"
)

// verdict is why something is not so: the reason and message of a condition that is False. The zero verdict is good.
type verdict struct{ reason, message string }

func (v verdict) good() bool { return v.reason == "" }

// resolves is the first thing wrong with a route's references.
func (w *world) resolves(r *route) verdict {
	for _, rule := range r.rules {
		for _, ref := range rule.backends {
			if _, _, v := w.target(r, ref); !v.good() {
				return v
			}
		}
	}
	return verdict{}
}

// backend is a reference made ready for the data plane; a bad one is Broken and keeps its weight.
func (w *world) backend(r *route, ref gatewayv1.BackendRef) plane.Backend {
	out := plane.Backend{Weight: 1}
	if ref.Weight != nil {
		out.Weight = *ref.Weight
	}
	svc, port, v := w.target(r, ref)
	if !v.good() {
		out.Broken = true
		return out
	}
	out.Endpoints = w.endpoints(svc, port)
	return out
}

// target is the Service port that a reference means, or why there is none.
func (w *world) target(r *route, ref gatewayv1.BackendRef) (*corev1.Service, corev1.ServicePort, verdict) {
	none := corev1.ServicePort{}
	namespace := r.GetNamespace()
	if ref.Namespace != nil {
		namespace = string(*ref.Namespace)
	}
	what := kindService + " " + namespace + "/" + string(ref.Name)
	if (ref.Group != nil && *ref.Group != groupCore) || (ref.Kind != nil && *ref.Kind != kindService) {
		return nil, none, verdict{string(gatewayv1.RouteReasonInvalidKind), "spec.rules.backendRefs: only Services are backends"}
	}
	if namespace != r.GetNamespace() && !w.granted(r, namespace, ref.Name) {
		return nil, none, verdict{string(gatewayv1.RouteReasonRefNotPermitted), what + ": no ReferenceGrant there permits it"}
	}
	notFound := string(gatewayv1.RouteReasonBackendNotFound)
	svc := w.service(namespace, string(ref.Name))
	switch {
	case svc == nil:
		return nil, none, verdict{notFound, what + " does not exist"}
	case svc.Spec.Type == corev1.ServiceTypeExternalName:
		return nil, none, verdict{notFound, what + " spec.type: an ExternalName has no endpoints"}
	}
	at := slices.IndexFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool {
		return ref.Port != nil && p.Port == *ref.Port && cmp.Or(p.Protocol, corev1.ProtocolTCP) == corev1.ProtocolTCP
	})
	if at < 0 {
		return nil, none, verdict{notFound, what + " spec.ports: it has no such TCP port"}
	}
	return svc, svc.Spec.Ports[at], verdict{}
}

// granted asks the ReferenceGrants of the backend's namespace.
func (w *world) granted(r *route, namespace string, name gatewayv1.ObjectName) bool {
	for _, g := range w.grants.Items {
		from := slices.ContainsFunc(g.Spec.From, func(f gatewayv1.ReferenceGrantFrom) bool {
			return f.Group == gatewayv1.GroupName && string(f.Kind) == r.kind && string(f.Namespace) == r.GetNamespace()
		})
		to := slices.ContainsFunc(g.Spec.To, func(t gatewayv1.ReferenceGrantTo) bool {
			return t.Group == groupCore && t.Kind == kindService && (t.Name == nil || *t.Name == name)
		})
		if g.Namespace == namespace && from && to {
			return true
		}
	}
	return false
}

// endpoints are the ready endpoints of a Service port, in order, each once.
func (w *world) endpoints(svc *corev1.Service, port corev1.ServicePort) []netip.AddrPort {
	out := []netip.AddrPort{}
	for i := range w.slices.Items {
		s := &w.slices.Items[i]
		if s.Namespace == svc.Namespace && s.Labels[discoveryv1.LabelServiceName] == svc.Name {
			out = append(out, readyIn(s, port.Name)...)
		}
	}
	slices.SortFunc(out, netip.AddrPort.Compare)
	return slices.Compact(out)
}

func readyIn(s *discoveryv1.EndpointSlice, port string) []netip.AddrPort {
	out := []netip.AddrPort{}
	for _, p := range s.Ports {
		number, ok := PortRange{1, 65535}.at(int64(deref(p.Port)))
		if !ok || deref(p.Name) != port || cmp.Or(deref(p.Protocol), corev1.ProtocolTCP) != corev1.ProtocolTCP {
			continue
		}
		for _, e := range s.Endpoints {
			// Ready unset means ready (EndpointConditions).
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				out = append(out, at(e.Addresses, number)...)
			}
		}
	}
	return out
}

// at leaves out what is no address: slices of type FQDN have names.
func at(addresses []string, port uint16) []netip.AddrPort {
	out := []netip.AddrPort{}
	for _, text := range addresses {
		if a, err := netip.ParseAddr(text); err == nil {
			out = append(out, netip.AddrPortFrom(a, port))
		}
	}
	return out
}

// deref is a pointer's value, or the zero value for nil.
func deref[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}
