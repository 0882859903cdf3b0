package inventory

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"offramp.dev/api/v1alpha1"
)

// MaxListeners is how many listeners one Gateway may have (Gateway API v1).
const MaxListeners = 64

// checkService judges what a member's spec says beside its addresses.
func (w *world) checkService(c *collector, g *group, m *member) {
	if m.svc.DeletionTimestamp != nil {
		c.add(ReasonTerminating, block, "metadata.deletionTimestamp", "The Service is being deleted.",
			"Let the deletion end, or remove the finalizers that hold it.")
	}
	checkPorts(c, m)
	checkPolicyFields(c, g, m)
	checkBalancer(c, g, m)
	w.checkEndpoints(c, g, m)
	if sign := dataPlaneSign(m.svc); sign != "" {
		c.add(ReasonDataPlane, inform, "spec.selector", "The Pods are themselves an Ingress or Gateway data plane ("+sign+").",
			"Nothing to do; hosts behind it move with it.")
	}
	w.checkBakedIn(c, g, m)
}

// checkBakedIn asks once: what was seen is told before what a selector suggests.
func (w *world) checkBakedIn(c *collector, g *group, m *member) {
	severity := ask
	if g.choice.hint == v1alpha1.StrategyAdopt {
		severity = inform
	}
	if own, ok := w.ownCarrier(m); ok {
		c.add(ReasonAddressBakedIn, severity, "spec.selector", fmt.Sprintf("Its Pods are told the address (%s of %s) and may hand it to clients, "+
			"whom DNS does not move.", own.where, own.object),
			"Confirm that the address stays (annotate "+v1alpha1.AnnotationStrategy+": Adopt), or change it there first.")
		return
	}
	if sign := bakedInSign(m.svc); sign != "" {
		c.add(ReasonAddressBakedIn, severity, "spec.selector", "The Service "+sign+": such applications hand their own address to clients, so "+
			"DNS does not move them.",
			"Confirm that the address stays (annotate "+v1alpha1.AnnotationStrategy+": Adopt), or change the advertised address first.")
	}
}

func checkPorts(c *collector, m *member) {
	for i, p := range m.svc.Spec.Ports {
		field := fmt.Sprintf("spec.ports[%d]", i)
		switch KindOf(p, nil) {
		case PortUDP:
			if p.Port == 67 || p.Port == 68 {
				c.add(ReasonBroadcastPort, block, field, fmt.Sprintf("UDP port %d is DHCP: its clients send broadcasts, which no load balancer "+
					"passes on.", p.Port),
					"Serve it from a Pod in the host network, and take the port out of the Service.")
				continue
			}
			c.add(ReasonUDP, inform, field, "UDP has no connections: drained means no packets at all, and no probe gets a reply that every server gives.",
				"Where all ports are UDP, prove the new path yourself and sign a waiver of the gate Proven.")
		case PortSCTP:
			c.add(ReasonSCTP, inform, field, "SCTP is served by no Gateway route.", "Nothing to do; a load balancer serves it.")
		case PortHTTP, PortTLS, PortTCP:
			if p.Port == 25 || p.Port == 465 || p.Port == 587 {
				c.add(ReasonMailReputation, inform, field, fmt.Sprintf("Port %d is mail: reverse DNS, SPF and reputation belong to the address.",
					p.Port), "Keep the address (Adopt).")
			}
		}
	}
}

// checkPolicyFields judges fields that another way of serving keeps, loses or switches on.
// A Gateway is never chosen, nor taken by hint, where affinity or the client's address would be lost.
func checkPolicyFields(c *collector, g *group, m *member) {
	if m.svc.Spec.SessionAffinity == corev1.ServiceAffinityClientIP {
		c.add(ReasonSessionAffinity, inform, "spec.sessionAffinity", "Clients stick to a Pod by their address; behind a Gateway they would not.",
			"Keep strategy LoadBalancer or Adopt.")
	}
	if isLocal(m) {
		c.add(ReasonLocalTrafficPolicy, inform, "spec.externalTrafficPolicy", "Pods see the client's address; behind a Gateway they would not.",
			"Keep strategy LoadBalancer or Adopt.")
	}
	if len(m.svc.Spec.LoadBalancerSourceRanges) > 0 {
		c.add(ReasonSourceRanges, ask, "spec.loadBalancerSourceRanges",
			"The ranges filter load balancer addresses only, so they were inert and begin to filter now.",
			"Check that every client lies in the ranges, or remove them.")
	}
	for _, key := range []string{
		"kube-router.io/service.local", "kube-router.io/service.dsr", "kube-router.io/service.hairpin.externalips",
		"k8s.co/keepalived-forward-method",
	} {
		if text, ok := m.svc.Annotations[key]; ok && g.choice.strategy != v1alpha1.StrategyAdopt {
			c.add(ReasonPolicyAnnotation, ask, "metadata.annotations["+key+"]",
				"The annotation ("+quote(text)+") changes how the address is served; a new address is served without it.",
				"Confirm that it is not needed any more, or keep the address (Adopt).")
		}
	}
}

// checkBalancer judges Services that are of type LoadBalancer already. They cannot be adopted as they are: the class can
// only be set while the type changes.
func checkBalancer(c *collector, g *group, m *member) {
	if m.svc.Spec.Type != corev1.ServiceTypeLoadBalancer || m.redundant {
		return
	}
	got := ingressText(m.svc)
	switch {
	case got != "" && g.choice.strategy == v1alpha1.StrategyLoadBalancer:
		c.add(ReasonExistingLoadBalancer, ask, "spec.type", "The Service already has a load balancer on "+got+", which could take over.",
			"Move the names to "+got+" and remove externalIPs, or ask for another strategy.")
	case g.choice.strategy == v1alpha1.StrategyAdopt:
		c.add(ReasonExistingLoadBalancer, ask, "spec.type", "To be adopted the Service must leave type LoadBalancer first, and may lose its "+
			"node ports.",
			"Note the node ports, set type NodePort, then adopt; or keep the load balancer it has.")
	case m.svc.Spec.LoadBalancerClass != nil:
		c.add(ReasonExistingLoadBalancer, ask, "spec.loadBalancerClass", fmt.Sprintf("The Service is of class %s and nobody has given it an "+
			"address; MetalLB serves no class but its own.", quote(*m.svc.Spec.LoadBalancerClass)),
			"See whether the controller of that class runs; a class is only dropped by leaving type LoadBalancer.")
	default:
		c.add(ReasonExistingLoadBalancer, ask, "spec.type", "The Service is of type LoadBalancer, but no controller has given it an address.",
			"See why (kubectl describe service); with a working controller the Service may need externalIPs no more.")
	}
}

func (w *world) checkEndpoints(c *collector, g *group, m *member) {
	if w.ready != nil && !w.ready[m.key] && !m.svc.Spec.PublishNotReadyAddresses {
		c.add(ReasonNoEndpoints, ask, "", "No endpoint is ready, so nothing can prove that a new path works.",
			"Start the Pods, or remove the Service if nobody needs it.")
	}
	if !isSelectorless(m) {
		return
	}
	if g.choice.strategy == v1alpha1.StrategyLoadBalancer && len(ingressAddresses(m.svc)) == 0 {
		c.add(ReasonSelectorLess, block, "spec.selector", "The Service has no selector, so a second Service would have no endpoints.",
			"Choose strategy Adopt or Gateway, or give the Service a selector.")
		return
	}
	c.add(ReasonSelectorLess, inform, "spec.selector", "Somebody else writes the endpoints; they are left alone.", "Nothing to do.")
}

// checkListeners counts what a Gateway would need: one listener for each HTTP or TLS port and name, one for each other port.
func checkListeners(c *collector, g *group) {
	if g.choice.strategy != v1alpha1.StrategyGateway {
		return
	}
	perPort := max(1, len(g.names()))
	if n := len(g.portTexts()) * perPort; n > MaxListeners {
		c.add(ReasonTooManyPorts, block, "spec.ports", fmt.Sprintf("%d ports and names need %d listeners; a Gateway has at most %d.",
			len(g.portTexts())+perPort, n, MaxListeners),
			"Ask for strategy LoadBalancer with annotation "+v1alpha1.AnnotationStrategy+", or split the Service.")
	}
}

// checkLocalSharing judges members that would share one new address: MetalLB lets them only with equal policy, and with
// Local only with equal selectors.
func checkLocalSharing(c *collector, g *group) {
	if len(g.members) < 2 || g.choice.strategy != v1alpha1.StrategyLoadBalancer {
		return
	}
	first := g.members[0]
	differs := func(m *member) bool {
		return isLocal(m) != isLocal(first) || isLocal(m) && !sameSelector(m, first)
	}
	if i := slices.IndexFunc(g.members, differs); i >= 0 {
		c.add(ReasonSharedAddressLocal, block, "spec.externalTrafficPolicy",
			fmt.Sprintf("%s and %s cannot share one load balancer address: sharing needs externalTrafficPolicy Cluster on both, or Local and the "+
				"same selector.", first.key, g.members[i].key),
			"Set Cluster on both (Pods no longer see client addresses), give them different names, or keep the address (Adopt).")
	}
}

func sameSelector(a, b *member) bool {
	if len(a.svc.Spec.Selector) != len(b.svc.Spec.Selector) {
		return false
	}
	for k, v := range a.svc.Spec.Selector {
		if other, ok := b.svc.Spec.Selector[k]; !ok || other != v {
			return false
		}
	}
	return true
}
