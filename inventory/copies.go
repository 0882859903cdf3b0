package inventory

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"offramp.dev/addresspool"
)

// publishedService is the Service whose addresses an Ingress controller copies into the status of its Ingresses, as
// "ns/name", or "". A value may name its own namespace by a variable.
func publishedService(load *Workload, c *Container) string {
	values := flagValues(c.Args, "--publish-service", "--providers.kubernetesingress.ingressendpoint.publishedservice",
		"--external-service")
	for _, name := range []string{"CONTROLLER_PUBLISH_SERVICE", "PUBLISH_SERVICE"} {
		if v := c.Env[name]; v != "" {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return ""
	}
	ns, name, ok := strings.Cut(values[len(values)-1], "/")
	if !ok {
		ns, name = load.Namespace, ns
	}
	if strings.HasPrefix(ns, "$(") {
		ns = load.Namespace
	}
	return ns + "/" + name
}

// ingressStatus maps addresses to the Ingresses that publish them.
func ingressStatus(list []*networkingv1.Ingress) map[netip.Addr][]string {
	out := map[netip.Addr][]string{}
	for _, in := range list {
		if in == nil {
			continue
		}
		for _, lb := range in.Status.LoadBalancer.Ingress {
			if a, _, err := addresspool.Canonical(lb.IP); err == nil {
				out[a] = append(out[a], in.Namespace+"/"+in.Name)
			}
		}
	}
	for a, names := range out {
		slices.Sort(names)
		out[a] = slices.Compact(names)
	}
	return out
}

// ipBlocks are the address ranges that NetworkPolicies name. One that names every address names none.
func ipBlocks(list []*networkingv1.NetworkPolicy) spans {
	var out spans
	for _, p := range list {
		if p == nil {
			continue
		}
		object := "NetworkPolicy " + p.Namespace + "/" + p.Name
		for _, peer := range peersOf(p) {
			if peer.IPBlock != nil && !strings.HasSuffix(peer.IPBlock.CIDR, "/0") {
				out = out.add(peer.IPBlock.CIDR, object)
			}
		}
	}
	return out.sorted()
}

func peersOf(p *networkingv1.NetworkPolicy) []networkingv1.NetworkPolicyPeer {
	var out []networkingv1.NetworkPolicyPeer
	for _, rule := range p.Spec.Ingress {
		out = append(out, rule.From...)
	}
	for _, rule := range p.Spec.Egress {
		out = append(out, rule.To...)
	}
	return out
}

// foreignSlice is an EndpointSlice that the cluster's controllers did not write.
type foreignSlice struct {
	name, manager string
	addresses     []netip.Addr
}

// foreignSlices finds them by Service. Kubernetes' own controllers sign with a label; who leaves it out is somebody else.
func foreignSlices(list []*discoveryv1.EndpointSlice) map[string][]foreignSlice {
	out := map[string][]foreignSlice{}
	for _, s := range list {
		if s == nil || s.Labels[discoveryv1.LabelServiceName] == "" {
			continue
		}
		manager := s.Labels[discoveryv1.LabelManagedBy]
		if manager == "endpointslice-controller.k8s.io" || manager == "endpointslicemirroring-controller.k8s.io" {
			continue
		}
		f := foreignSlice{name: s.Name, manager: manager}
		for _, e := range s.Endpoints {
			for _, text := range e.Addresses {
				if a, _, err := addresspool.Canonical(text); err == nil {
					f.addresses = append(f.addresses, a)
				}
			}
		}
		key := s.Namespace + "/" + s.Labels[discoveryv1.LabelServiceName]
		out[key] = append(out[key], f)
	}
	for key, slicesOf := range out {
		slices.SortFunc(slicesOf, func(a, b foreignSlice) int { return strings.Compare(a.name, b.name) })
		out[key] = slicesOf
	}
	return out
}

func (f foreignSlice) text() string {
	if f.manager == "" {
		return fmt.Sprintf("EndpointSlice %s (unsigned)", f.name)
	}
	return fmt.Sprintf("EndpointSlice %s (by %s)", f.name, quote(f.manager))
}
