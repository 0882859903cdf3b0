package inventory

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"offramp.dev/api/v1alpha1"
)

// checkAround judges a member by what stands around it.
func (w *world) checkAround(c *collector, g *group, m *member) {
	w.checkFamilies(c, m)
	w.checkRouters(c, m)
	w.checkCarriers(c, m)
	w.checkReaders(c, m)
	w.checkForeignEndpoints(c, m)
	w.checkPublished(c, g, m)
}

// checkGroupAround judges the group's addresses by what stands around them.
func (w *world) checkGroupAround(c *collector, g *group) {
	w.checkAttraction(c, g)
	addresses := g.addresses()
	for _, a := range addresses {
		w.checkIngresses(c, g, a)
		if b, ok := w.blocks.find(a); ok {
			c.add(ReasonNetworkPolicy, inform, "spec.externalIPs", fmt.Sprintf("%s names %s (ipBlock).", b.object, a),
				"Where clients or servers behind the policy need the new address too, add it there before the names move.")
		}
		if list := w.declared[a]; len(list) > 0 {
			c.add(ReasonExternalDNS, ask, "spec.externalIPs", fmt.Sprintf("external-dns writes names for %s from %s, and would write them again.", a,
				some(list)), "Change the targets there when the walk moves the names.")
		}
	}
	checkRecordOwners(c, w.pointersTo(addresses))
	w.checkAllocators(c, g)
}

// checkFamilies holds the values against the families that the Service can have: where the plan would stop, so does this.
func (w *world) checkFamilies(c *collector, m *member) {
	four, six, known := families(m.svc)
	policy := corev1.IPFamilyPolicySingleStack
	if p := m.svc.Spec.IPFamilyPolicy; p != nil {
		policy = *p
	}
	oneFamily := w.four != w.six
	var has [2]bool
	for _, v := range m.values {
		if v.addr.IsValid() {
			has[0], has[1] = has[0] || v.addr.Is4(), has[1] || v.addr.Is6()
		}
	}
	const field, fix = "spec.externalIPs", "Remove the addresses of the other family, or set ipFamilyPolicy: PreferDualStack on a dual-stack cluster."
	switch {
	case slices.ContainsFunc(m.values, func(v value) bool { return v.wrongFamily }):
		c.add(ReasonFamilyMismatch, block, field, "The field holds addresses of a family that the Service does not serve; no plan is made while "+
			"it does.", fix)
	case !known && has[0] && has[1] && policy == corev1.IPFamilyPolicySingleStack:
		c.add(ReasonFamilyMismatch, block, field, "The field holds addresses of both families, and the Service gets one (it asks for no "+
			"dual stack): the others carry no traffic.", fix)
	case policy == corev1.IPFamilyPolicyRequireDualStack && oneFamily && (!four || !six):
		c.add(ReasonFamilyMismatch, block, "spec.ipFamilyPolicy", "The Service requires dual stack on a cluster with one family: the API server "+
			"refuses it.", "Set ipFamilyPolicy: PreferDualStack or SingleStack.")
	}
}

// checkRouters finds addresses that kube-router does not serve: the object looks well, no traffic flows.
func (w *world) checkRouters(c *collector, m *member) {
	for i, v := range m.values {
		if !v.live() {
			continue
		}
		for _, r := range w.routers {
			if !r.serves(v.addr) {
				c.add(ReasonOutsideServedRange, ask, fmt.Sprintf("spec.externalIPs[%d]", i),
					fmt.Sprintf("%s lies outside --service-external-ip-range of %s, so kube-router does not serve it.", v.addr, r.object),
					"Prove by a probe that nobody is served there, then remove the value; or add the range.")
				break
			}
		}
	}
}

// ownCarrier is the workload behind the Service that is told the Service's address. Data planes are told theirs only to
// publish it.
func (w *world) ownCarrier(m *member) (carrier, bool) {
	if len(m.svc.Spec.Selector) == 0 || dataPlaneSign(m.svc) != "" {
		return carrier{}, false
	}
	for _, a := range m.addresses {
		for _, k := range w.nearCarriers(m, a) {
			if selects(m.svc.Spec.Selector, k.workload.Labels) {
				return k, true
			}
		}
	}
	return carrier{}, false
}

// enoughCarriers bounds how many workloads are asked about one address: thousands may share it.
const enoughCarriers = 64

// nearCarriers are those in the Service's own namespace, among the first ones.
func (w *world) nearCarriers(m *member, a netip.Addr) []carrier {
	var out []carrier
	for _, k := range w.carriers[a][:min(len(w.carriers[a]), enoughCarriers)] {
		if k.workload.Namespace == m.svc.Namespace {
			out = append(out, k)
		}
	}
	return out
}

func selects(selector, set map[string]string) bool {
	for k, v := range selector {
		if got, ok := set[k]; !ok || got != v {
			return false
		}
	}
	return true
}

// checkCarriers tells who inside the cluster has the address written down. Somebody in another namespace may not stop this
// one, so there it is only told.
func (w *world) checkCarriers(c *collector, m *member) {
	for i, v := range m.values {
		if !v.live() {
			continue
		}
		var near, far []string
		for _, k := range w.carriers[v.addr][:min(len(w.carriers[v.addr]), enoughCarriers)] {
			switch {
			case k.workload.system(), k.workload.Namespace == m.svc.Namespace && selects(m.svc.Spec.Selector, k.workload.Labels):
			case k.workload.Namespace == m.svc.Namespace:
				near = append(near, k.object+" ("+k.where+")")
			default:
				far = append(far, k.object+" ("+k.where+")")
			}
		}
		tellCarriers(c, fmt.Sprintf("spec.externalIPs[%d]", i), v.addr, near, far)
	}
}

func tellCarriers(c *collector, field string, a netip.Addr, near, far []string) {
	severity, list := ask, near
	if len(near) == 0 {
		severity, list = inform, far
	}
	if len(list) == 0 {
		return
	}
	c.add(ReasonAddressCarried, severity, field, fmt.Sprintf("%s is written down in %s, which DNS does not move; from Pods it is reached "+
		"through the node's own rules.", a, some(list)), "Give them a name or the cluster's own name of the Service before the address is given up, and probe from a Pod.")
}

// checkReaders tells who hands the field on as data: with two addresses live they hand out both.
func (w *world) checkReaders(c *collector, m *member) {
	if network := m.svc.Labels["topology.istio.io/network"]; network != "" {
		c.add(ReasonReadAsData, inform, "metadata.labels[topology.istio.io/network]",
			"istiod hands the addresses of this gateway (network "+quote(network)+") to the meshes of other clusters, and with two live it hands out both.",
			"Let the other clusters reach both addresses before the new one is live.")
	}
	for _, zone := range w.externalZones {
		c.add(ReasonReadAsData, inform, "spec.externalIPs", fmt.Sprintf("CoreDNS answers %s.%s.%s with the addresses (k8s_external): that name "+
			"moves by itself, and with two live it answers both.", m.svc.Name, namespaceOf(m), zone),
			"Let clients of that name reach both addresses before the new one is live.")
	}
}

// checkForeignEndpoints tells who else decides where the traffic goes. Without a selector that is expected.
func (w *world) checkForeignEndpoints(c *collector, m *member) {
	for _, f := range w.endpoints[m.key] {
		for _, a := range f.addresses {
			if object := w.machine(a); object != "" {
				c.add(ReasonForeignEndpoints, ask, "", fmt.Sprintf("%s sends the traffic to %s, %s.", f.text(), a, object),
					"See who wrote it: clients from outside reach that machine through the Service.")
				break
			}
		}
		if !isSelectorless(m) {
			c.add(ReasonForeignEndpoints, ask, "", f.text()+" adds endpoints beside those that the selector finds.",
				"See who wrote it; delete it if nobody stands up for it.")
		}
	}
}

// machine says whose address an endpoint must not silently be, or "".
func (w *world) machine(a netip.Addr) string {
	if _, ok := w.apis[a]; ok {
		return "an address of the API server"
	}
	if n, ok := w.nodes[a]; ok {
		return "an address of node " + n.name
	}
	if _, ok := w.resolvers[a]; ok {
		return "an address of cluster DNS"
	}
	return ""
}

// checkPublished tells who copies the Service's addresses into the status of Ingresses.
func (w *world) checkPublished(c *collector, g *group, m *member) {
	list := w.publishers[m.key]
	if len(list) == 0 {
		return
	}
	severity, what := ask, "what it publishes then is the Service's load balancer address"
	if g.choice.strategy == v1alpha1.StrategyAdopt {
		severity = inform
	} else if m.svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
		what = "without one ingress-nginx publishes the cluster IP, and external-dns would publish that for every host"
	}
	c.add(ReasonIngressStatus, severity, "spec.externalIPs", fmt.Sprintf("%s copies the addresses of this Service into the status of its "+
		"Ingresses: it changes at the moment the field goes; %s.", some(list), what),
		"Publish the new address explicitly (--publish-status-address, or the new Service in --publish-service) before the field goes.")
}

// checkIngresses tells which Ingresses publish the address now.
func (w *world) checkIngresses(c *collector, g *group, a netip.Addr) {
	list := w.ingresses[a]
	if len(list) == 0 {
		return
	}
	severity, fix := ask, "See who writes that status (--publish-service), and what reads it (external-dns), before the field goes."
	if g.choice.strategy == v1alpha1.StrategyAdopt {
		severity, fix = inform, "Nothing to do while the address stays."
	}
	c.add(ReasonIngressStatus, severity, "spec.externalIPs", fmt.Sprintf("%s is in the status of Ingress %s; their names move with that status.",
		a, some(list)), fix)
}

// checkRecordOwners finds live records that somebody else rewrites.
func checkRecordOwners(c *collector, list []Pointer) {
	for _, p := range list {
		if p.MovesByItself {
			c.add(ReasonExternalDNS, ask, "", fmt.Sprintf("%s %s is managed by %s: it moves when external-dns sees another address, not when the "+
				"walk says.", p.Name, p.Type, quote(p.Owner)),
				"Hold it with external-dns' target annotation, or take the name from external-dns, before it is moved.")
		}
	}
}

// checkAllocators finds who else would give the new Service an address.
func (w *world) checkAllocators(c *collector, g *group) {
	if g.choice.strategy != v1alpha1.StrategyGateway && g.choice.strategy != v1alpha1.StrategyLoadBalancer || g.hasBalancer() {
		return
	}
	for _, o := range w.allocators {
		if o.all {
			c.add(ReasonOtherAllocator, ask, "", fmt.Sprintf("%s (%s) gives addresses to every Service of type LoadBalancer without class, and would "+
				"serve the new one beside MetalLB.", o.project, o.object), o.fix)
		}
	}
}
