package inventory

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"offramp.dev/addresspool"
)

// nodeAnnotations hold addresses that node.status.addresses may lack: kubelet's and k3s' own, flannel's, Calico's (with a
// prefix length) and OVN's (a JSON list).
func nodeAnnotations() []string {
	return []string{
		"alpha.kubernetes.io/provided-node-ip", "k3s.io/internal-ip", "k3s.io/external-ip", "flannel.alpha.coreos.com/public-ip",
		"flannel.alpha.coreos.com/public-ipv6", "projectcalico.org/IPv4Address", "projectcalico.org/IPv6Address", "k8s.ovn.org/host-cidrs",
	}
}

func nodeAddresses(nodes []*corev1.Node) map[netip.Addr]nodeRef {
	out := map[netip.Addr]nodeRef{}
	for _, n := range nodes {
		if n == nil {
			continue
		}
		ref := nodeRef{n.Name, isControlPlane(n)}
		for _, a := range addressesOf(n) {
			if old, ok := out[a]; !ok || ref.controlPlane && !old.controlPlane || ref.controlPlane == old.controlPlane && ref.name < old.name {
				out[a] = ref
			}
		}
	}
	return out
}

func addressesOf(n *corev1.Node) []netip.Addr {
	var texts []string
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP || a.Type == corev1.NodeExternalIP {
			texts = append(texts, a.Address)
		}
	}
	for _, key := range nodeAnnotations() {
		texts = append(texts, strings.FieldsFunc(n.Annotations[key], func(r rune) bool { return strings.ContainsRune(`[]", `, r) })...)
	}
	var out []netip.Addr
	for _, text := range texts {
		host, _, _ := strings.Cut(text, "/")
		if a, _, err := addresspool.Canonical(host); err == nil {
			out = append(out, a)
		}
	}
	return out
}

func isControlPlane(n *corev1.Node) bool {
	_, controlPlane := n.Labels["node-role.kubernetes.io/control-plane"]
	_, master := n.Labels["node-role.kubernetes.io/master"]
	return controlPlane || master
}

// allExcluded tells that no node may announce: MetalLB obeys the label on every one of them.
func allExcluded(nodes []*corev1.Node) bool {
	return len(nodes) > 0 && !slices.ContainsFunc(nodes, func(n *corev1.Node) bool {
		return n != nil && !hasLabel(n, corev1.LabelNodeExcludeBalancers)
	})
}

func hasLabel(n *corev1.Node, key string) bool {
	_, ok := n.Labels[key]
	return ok
}

// servedByNodes names a Service without class whose load balancer addresses are all node addresses in a k3s cluster: that is
// ServiceLB at work, and it would take every new Service without class as well.
func servedByNodes(nodes []*corev1.Node, services []*corev1.Service, addresses map[netip.Addr]nodeRef) string {
	if !slices.ContainsFunc(nodes, func(n *corev1.Node) bool {
		return n != nil && strings.Contains(n.Status.NodeInfo.KubeletVersion, "+k3s")
	}) {
		return ""
	}
	for _, svc := range services {
		got := ingressAddresses(svc)
		foreign := func(a netip.Addr) bool { return addresses[a].name == "" }
		if svc.Spec.LoadBalancerClass == nil && len(got) > 0 && !slices.ContainsFunc(got, foreign) {
			return "Service " + keyOf(svc)
		}
	}
	return ""
}

// servedByPods names a Service for which ServiceLB runs its Pods, by the labels that it gives them.
func servedByPods(loads []Workload) string {
	out := ""
	for i := range loads {
		name, ns := loads[i].Labels["svccontroller.k3s.cattle.io/svcname"], loads[i].Labels["svccontroller.k3s.cattle.io/svcnamespace"]
		if !loads[i].system() || name == "" {
			continue
		}
		if object := "Service " + ns + "/" + name; out == "" || object < out {
			out = object
		}
	}
	return out
}

// span is a range of addresses and the object it comes from.
type span struct {
	addresspool.Range
	object string
}

// spans are sorted by first address; where they overlap, the one that begins first answers.
type spans []span

// podSpans are the pod ranges of the nodes.
func podSpans(nodes []*corev1.Node) spans {
	var out spans
	for _, n := range nodes {
		if n == nil {
			continue
		}
		for _, text := range append([]string{n.Spec.PodCIDR}, n.Spec.PodCIDRs...) {
			out = out.add(text, "Node "+n.Name)
		}
	}
	return out.sorted()
}

func serviceSpans(cidrs []*networkingv1.ServiceCIDR) spans {
	var out spans
	for _, c := range cidrs {
		if c == nil {
			continue
		}
		for _, text := range c.Spec.CIDRs {
			out = out.add(text, "ServiceCIDR "+c.Name)
		}
	}
	return out.sorted()
}

func (s spans) add(text, object string) spans {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return s
	}
	return append(s, span{addresspool.PrefixRange(p), object})
}

// sorted joins ranges that overlap, so that one look at the last range that begins before an address is enough.
func (s spans) sorted() spans {
	slices.SortFunc(s, func(a, b span) int {
		if c := a.First.Compare(b.First); c != 0 {
			return c
		}
		return strings.Compare(a.object, b.object)
	})
	var out spans
	for _, next := range s {
		if n := len(out); n > 0 && out[n-1].Overlaps(next.Range) {
			if out[n-1].Last.Less(next.Last) {
				out[n-1].Last = next.Last
			}
			continue
		}
		out = append(out, next)
	}
	return out
}

// find is the range that holds a.
func (s spans) find(a netip.Addr) (span, bool) {
	i, _ := slices.BinarySearchFunc(s, a, func(r span, a netip.Addr) int {
		if r.First.Compare(a) <= 0 {
			return -1
		}
		return 1
	})
	if i == 0 || !s[i-1].Contains(a) {
		return span{}, false
	}
	return s[i-1], true
}

// reserved lists what no pool may touch.
func (w *world) reserved() []addresspool.Reserved {
	var out []addresspool.Reserved
	one := func(a netip.Addr, object, what string) {
		out = append(out, addresspool.Reserved{Range: addresspool.Range{First: a, Last: a}, Object: object, What: what})
	}
	for a, n := range w.nodes {
		one(a, "Node "+n.name, "node address")
	}
	for a, object := range w.apis {
		one(a, cmp.Or(object, "API server"), "API server address")
	}
	for a, object := range w.resolvers {
		one(a, object, "name server address")
	}
	for _, s := range w.pods {
		out = append(out, addresspool.Reserved{Range: s.Range, Object: s.object, What: "pod addresses"})
	}
	for _, s := range w.services {
		out = append(out, addresspool.Reserved{Range: s.Range, Object: s.object, What: "Service addresses"})
	}
	return out
}
