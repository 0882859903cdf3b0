package inventory

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"

	"offramp.dev/api/v1alpha1"
)

// attraction says who brings the packets for each live address of the group. What was seen goes before what the policy
// says, and what ends with the field before what does not.
func (w *world) attraction(g *group) []Attracted {
	by := map[netip.Addr]Attracted{}
	policy, declared := g.policyName(), declaredAttraction(g)
	for _, m := range g.members {
		for _, a := range m.addresses {
			if old, ok := by[a]; !ok || old.By != v1alpha1.AttractionAnnouncer {
				by[a] = w.attracted(m.svc, a, declared, policy)
			}
		}
	}
	var out []Attracted
	for _, a := range g.addresses() {
		out = append(out, by[a])
	}
	return out
}

func (w *world) attracted(svc *corev1.Service, a netip.Addr, declared v1alpha1.Attraction, policy string) Attracted {
	out := Attracted{Address: a.String(), By: v1alpha1.AttractionUnknown}
	announcer, announced := w.announcerOf(svc, a)
	node, onNode := w.nodes[a]
	switch {
	case announced:
		out.By, out.Why = v1alpha1.AttractionAnnouncer, fmt.Sprintf("%s announces it because of the field (%s).", announcer.project,
			announcer.object)
	case onNode:
		out.By, out.Why = v1alpha1.AttractionInterface, fmt.Sprintf("It is an address of node %s.", node.name)
	case w.virtual[a] != "":
		out.By, out.Why = v1alpha1.AttractionInterface, w.virtual[a]+" keeps it on a node's interface."
	case w.boundByIPVS():
		out.By, out.Why = v1alpha1.AttractionAnnouncer, "In ipvs mode without strictARP every node answers ARP for it because of the field."
	case declared != v1alpha1.AttractionUnknown:
		out.By, out.Why = declared, fmt.Sprintf("MigrationPolicy %s says so (spec.drain.attraction).", policy)
	default:
		out.Why = "Nothing that was looked at attracts it, and no policy says who does."
	}
	return out
}

// boundByIPVS: kube-proxy binds the address to every node, and nothing keeps the nodes from answering ARP for it.
func (w *world) boundByIPVS() bool {
	return w.proxyMode == v1alpha1.ProxyIPVS && w.strictARP != nil && !*w.strictARP
}

// declaredAttraction is the admin's word, or Unknown.
func declaredAttraction(g *group) v1alpha1.Attraction {
	if p := g.policy(); p != nil && p.Spec.Drain.Attraction != "" {
		return p.Spec.Drain.Attraction
	}
	return v1alpha1.AttractionUnknown
}

// checkAttraction tells what follows: whether removing the field cuts connections, and whether the address can stay.
func (w *world) checkAttraction(c *collector, g *group) {
	told := map[netip.Addr]bool{}
	for _, m := range g.members {
		for _, a := range m.addresses {
			if n, ok := w.announcerOf(m.svc, a); ok && !told[a] {
				told[a] = true
				w.announcedByField(c, g, m, a, n)
			}
			w.checkVirtual(c, g, m, a)
		}
	}
	if len(told) > 0 {
		checkDeclared(c, g)
	}
}

func (w *world) announcedByField(c *collector, g *group, m *member, a netip.Addr, n announcer) {
	if g.choice.strategy == v1alpha1.StrategyAdopt && !w.announcedAsBalancer(m.svc, a) {
		c.add(ReasonAnnouncedByField, block, "spec.externalIPs",
			fmt.Sprintf("%s (%s) announces %s because of the field, and would not announce it as a load balancer's address.", n.project, n.object, a),
			fmt.Sprintf("Announce it there as a load balancer's first (%s), then adopt.", n.balancerSetting))
		return
	}
	c.add(ReasonAnnouncedByField, inform, "spec.externalIPs",
		fmt.Sprintf("%s (%s) announces %s because of the field: the route goes with it, and established connections end.", n.project, n.object, a),
		"Let no connection be left before the field goes; run no second speaker (MetalLB in BGP mode) on the same nodes unchecked.")
}

// checkDeclared finds a policy that says of announced addresses that their packets come without the field.
func checkDeclared(c *collector, g *group) {
	d := declaredAttraction(g)
	if d != v1alpha1.AttractionStatic && d != v1alpha1.AttractionInterface {
		return
	}
	c.add(ReasonAttractionDiffers, ask, "spec.externalIPs",
		fmt.Sprintf("MigrationPolicy %s says attraction %s, but an announcer is seen that withdraws the route with the field.", g.policyName(), d),
		"Set spec.drain.attraction: Announcer, or take the address out of what is announced.")
}

// checkVirtual: two holders of one address on one network are never right, so who adopts it must release it there.
func (w *world) checkVirtual(c *collector, g *group, m *member, a netip.Addr) {
	object := w.virtual[a]
	if object == "" {
		return
	}
	if n, ok := w.announcerOf(m.svc, a); ok {
		c.add(ReasonHeldOnInterface, ask, "spec.externalIPs", fmt.Sprintf("%s keeps %s on a node's interface, and %s (%s) announces it too: two "+
			"answer for one address.", object, a, n.project, n.object), "Take the address out of one of them before anything moves.")
		return
	}
	if g.choice.strategy != v1alpha1.StrategyAdopt {
		c.add(ReasonHeldOnInterface, inform, "spec.externalIPs", fmt.Sprintf("%s keeps %s on a node's interface.", object, a),
			"Take it out there once the address is given up.")
		return
	}
	c.add(ReasonHeldOnInterface, ask, "spec.externalIPs",
		fmt.Sprintf("%s keeps %s on a node's interface; served as a load balancer's address it must have one holder.", object, a),
		"Keep it there and announce it nowhere else; or stop it there, see that nobody answers ARP for "+a.String()+", then let a load balancer announce it.")
}
