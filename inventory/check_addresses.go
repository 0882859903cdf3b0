package inventory

import (
	"fmt"
	"net/netip"
	"slices"

	"offramp.dev/api/v1alpha1"
)

// MaxAddresses is how many addresses one entry point may have.
const MaxAddresses = 32

// belongs is what an address is to the cluster.
type belongs struct {
	reason, message, fix string
	severity             v1alpha1.Severity
}

const (
	block   = v1alpha1.SeverityBlock
	ask     = v1alpha1.SeverityAsk
	inform  = v1alpha1.SeverityInform
	cleanUp = v1alpha1.SeverityCleanUp
)

// checkAddresses judges every value of a member's field. Values of a field that can simply go hurt nobody and are not judged.
func (w *world) checkAddresses(c *collector, g *group, m *member) {
	for i, v := range m.values {
		field := fmt.Sprintf("spec.externalIPs[%d]", i)
		switch {
		case v.err != nil:
			c.add(ReasonBadAddress, block, field, upperFirst(v.err.Error())+".", "Correct or remove the value; no proxy serves it.")
			continue
		case v.again:
			c.add(ReasonDuplicateAddress, cleanUp, field, fmt.Sprintf("%s is listed before.", v.addr), "Remove the value.")
			continue
		case v.wrongFamily:
			c.add(ReasonInertField, cleanUp, field, fmt.Sprintf("%s is not of the Service's IP families, so no proxy serves it.", v.addr),
				"Remove the value.")
			continue
		}
		checkSpelling(c, field, v)
		if b := w.belongs(g, v.addr); b.reason != "" {
			c.add(b.reason, b.severity, field, b.message, b.fix)
		}
		w.checkHostPorts(c, m, v.addr)
	}
}

func checkSpelling(c *collector, field string, v value) {
	switch {
	case !v.strict:
		c.add(ReasonNonCanonicalAddress, ask, field, fmt.Sprintf("%s is read as %s; API servers since 1.36 take that spelling only where it "+
			"is already stored, so going back would write %s.",
			quote(v.text), v.addr, v.addr), fmt.Sprintf("Write %s.", v.addr))
	case v.text != v.addr.String():
		c.add(ReasonNonCanonicalAddress, inform, field, fmt.Sprintf("%s is %s in canonical form.", quote(v.text), v.addr),
			fmt.Sprintf("Write %s.", v.addr))
	}
}

// belongs finds what an address is to the cluster, the most dangerous first.
func (w *world) belongs(g *group, a netip.Addr) belongs {
	if b := w.forbidden(a); b.reason != "" {
		return b
	}
	if node, ok := w.nodes[a]; ok {
		return w.nodeAddress(g, a, node.name)
	}
	return belongs{}
}

// forbidden finds addresses that no Service may serve from outside, wherever it moves.
func (w *world) forbidden(a netip.Addr) belongs {
	if b := special(a); b.reason != "" {
		return b
	}
	if object, ok := w.apis[a]; ok {
		if object != "" {
			object = " (" + object + ")"
		}
		return belongs{
			ReasonAPIServerAddress, fmt.Sprintf("%s is an address of the API server%s.", a, object),
			"Give the application another address; moving or adopting this one would cut off the API.", block,
		}
	}
	if node := w.nodes[a]; node.controlPlane {
		return belongs{
			ReasonControlPlaneAddress, fmt.Sprintf("%s is an address of control-plane node %s.", a, node.name),
			"Give the application an address that no control-plane node has, then remove this one by hand.", block,
		}
	}
	return w.inRanges(a)
}

// nodeAddress is a common and honest use. Where the address is left, clients that came past DNS (port forwards of a router,
// most of all) stay behind; where it is adopted, it stays the node's too.
func (w *world) nodeAddress(g *group, a netip.Addr, node string) belongs {
	if g.choice.strategy != v1alpha1.StrategyAdopt {
		return belongs{
			ReasonNodeAddress, fmt.Sprintf("%s is an address of node %s; a router that forwards to the node is not moved by DNS.", a, node),
			"Change such forwards to the new address, or keep this one: annotate " + v1alpha1.AnnotationStrategy + ": Adopt.", ask,
		}
	}
	if problem := w.stolenByIPVS(a); problem != "" {
		return belongs{ReasonNodeAddress, upperFirst(problem) + ".", "Move to another address, or leave ipvs mode first.", block}
	}
	return belongs{
		ReasonNodeAddress, fmt.Sprintf("%s is an address of node %s and is adopted in place; the Service stays bound to that node's life.", a,
			node),
		"Nothing to do. To move to an address of a pool, give it a name (" + v1alpha1.AnnotationHostnames + ").", inform,
	}
}

// inRanges finds addresses that the cluster gives out itself.
func (w *world) inRanges(a netip.Addr) belongs {
	const other = "Remove the value: traffic of the whole cluster to that address ends at this Service."
	if object, ok := w.resolvers[a]; ok {
		return belongs{ReasonClusterDNSAddress, fmt.Sprintf("%s is the address of %s.", a, object), other, block}
	}
	if object, ok := w.clusterIPs[a]; ok {
		return belongs{ReasonServiceRangeAddress, fmt.Sprintf("%s is the cluster IP of %s.", a, object), other, block}
	}
	if s, ok := w.services.find(a); ok {
		return belongs{ReasonServiceRangeAddress, fmt.Sprintf("%s lies in the Service range %s (%s).", a, s.Range, s.object), other, block}
	}
	if s, ok := w.pods.find(a); ok {
		return belongs{ReasonPodAddress, fmt.Sprintf("%s lies in the pod range %s (%s).", a, s.Range, s.object), other, block}
	}
	return belongs{}
}

// special finds addresses that can be nobody's entry point. API servers refuse them in new objects, old objects have them.
func special(a netip.Addr) belongs {
	const fix = "Remove the value."
	switch {
	case a.IsLoopback():
		return belongs{ReasonLoopbackAddress, fmt.Sprintf("%s is every host's own loopback address.", a), fix, block}
	case a == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return belongs{ReasonBroadcastAddress, fmt.Sprintf("%s is the broadcast address.", a), fix, block}
	case a.IsUnspecified(), a.IsMulticast(), a.IsLinkLocalUnicast():
		return belongs{
			ReasonUnroutableAddress, fmt.Sprintf("%s is unspecified, link-local or multicast and leads to no single host.", a), fix,
			block,
		}
	}
	return belongs{}
}

// checkHostPorts warns of ports that hosts listen on themselves: when the field goes, the host answers again.
func (w *world) checkHostPorts(c *collector, m *member, a netip.Addr) {
	if _, ok := w.nodes[a]; !ok {
		return
	}
	for i, p := range m.svc.Spec.Ports {
		if slices.Contains([]int32{22, 2379, 2380, 6443, 10250}, p.Port) && portText(p)[:3] == "TCP" {
			c.add(ReasonHostPort, ask, fmt.Sprintf("spec.ports[%d]", i),
				fmt.Sprintf("Port %d of %s is hidden behind this Service today; the host's own listener answers there once the field is gone.", p.Port,
					a),
				"Close the port on the host or in the firewall before release.")
		}
	}
}

// checkSeveral counts the addresses that become one.
func checkSeveral(c *collector, g *group) {
	count := map[bool][]string{}
	for _, a := range g.addresses() {
		count[a.Is6()] = append(count[a.Is6()], a.String())
	}
	if n := len(count[false]) + len(count[true]); n > MaxAddresses {
		c.add(ReasonTooManyAddresses, block, "spec.externalIPs", fmt.Sprintf("%d addresses are more than the %d that one entry point may have.",
			n, MaxAddresses),
			"Remove addresses that carry no traffic, or split the Service.")
		return
	}
	for _, list := range [][]string{count[false], count[true]} {
		if len(list) < 2 {
			continue
		}
		if g.choice.strategy == v1alpha1.StrategyAdopt {
			c.add(ReasonSeveralAddresses, inform, "spec.externalIPs", fmt.Sprintf("%s are adopted together.", some(list)), "Nothing to do.")
			continue
		}
		c.add(ReasonSeveralAddresses, ask, "spec.externalIPs",
			fmt.Sprintf("%s become one address: one node (layer 2) or one route serves what several did, and failover takes seconds.", some(list)),
			"Agree to one address, or split the Service and its names by address first.")
	}
}
