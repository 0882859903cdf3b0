package inventory

import (
	"fmt"
	"net/netip"
	"slices"

	"offramp.dev/api/v1alpha1"
)

// judge gathers the findings about one group, the worst first.
func (w *world) judge(g *group) []v1alpha1.Finding {
	out := []v1alpha1.Finding{}
	whole := collect(g.members[0].object())
	if g.cleanUp() != "" {
		return sortFindings(append(out, w.judgeUseless(whole, g)...))
	}
	for _, m := range g.members {
		c := collect(m.object())
		w.checkAddresses(c, g, m)
		w.checkConflicts(c, m)
		w.checkService(c, g, m)
		checkNames(c, m)
		w.checkOwner(c, g, m)
		w.checkAround(c, g, m)
		out = append(out, c.findings()...)
	}
	w.checkGroupAround(whole, g)
	checkSeveral(whole, g)
	checkListeners(whole, g)
	checkLocalSharing(whole, g)
	checkHint(whole, g)
	w.checkShared(whole, g)
	w.checkGroupNames(whole, g)
	w.checkOptIn(whole, g)
	w.checkPolicy(whole, g)
	w.checkAnnouncers(whole, g)
	w.checkMode(whole)
	return bounded(sortFindings(append(out, whole.findings()...)))
}

// judgeUseless says why the field can go, and who has to take it out.
func (w *world) judgeUseless(c *collector, g *group) []v1alpha1.Finding {
	m := g.members[0]
	reason, fix := ReasonInertField, "Remove spec.externalIPs: kubectl patch service "+m.svc.Name+" -n "+
		""+namespaceOf(m)+` --type=json -p '[{"op":"remove","path":"/spec/externalIPs"}]'`
	if m.redundant {
		reason = ReasonExistingLoadBalancer
		if !isLive(m.svc) {
			fix = "See that status.loadBalancer carries the addresses; then remove spec.externalIPs from the manifest."
		}
	}
	c.add(reason, cleanUp, "spec.externalIPs", "Nothing moves: "+m.cleanUp+".", fix)
	if m.svc.DeletionTimestamp != nil {
		c.add(ReasonTerminating, inform, "metadata.deletionTimestamp", "The Service is being deleted.", "Nothing to do.")
	}
	checkNames(c, m)
	w.checkOwner(c, g, m)
	w.checkPolicy(c, g)
	return c.findings()
}

func checkHint(c *collector, g *group) {
	if g.choice.hintIgnored != "" {
		c.add(ReasonHintIgnored, ask, "metadata.annotations["+v1alpha1.AnnotationStrategy+"]", g.choice.hintIgnored,
			"Correct or remove the annotation.")
	}
}

// checkMode warns that in ipvs mode removing the field cuts what is still connected.
func (w *world) checkMode(c *collector) {
	if w.proxyMode != v1alpha1.ProxyIPVS {
		return
	}
	c.add(ReasonIPVSMode, inform, "", "kube-proxy runs in ipvs mode: established connections end when the field goes.",
		"Wait until no connection is left, or leave ipvs mode first.")
}

// clusterFindings belong to no entry point.
func (w *world) clusterFindings(c Cluster) []v1alpha1.Finding {
	var out []v1alpha1.Finding
	for _, p := range w.pools {
		out = append(out, w.judgePool(p)...)
	}
	out = append(out, w.judgeSettings()...)
	out = append(out, w.judgeHolders()...)
	out = append(out, w.judgeAllocators()...)
	for _, u := range append(unseen(c), w.unreadable...) {
		f := collect(u.Kind)
		f.add(ReasonUnseen, inform, "", u.Kind+" could not be looked at: "+u.Why+". What depends on it is unknown.",
			"Grant the right to read it, or give its objects.")
		out = append(out, f.findings()...)
	}
	return sortFindings(out)
}

func (w *world) judgePool(p poolView) []v1alpha1.Finding {
	c := collect("IPAddressPool " + p.Namespace + "/" + p.Name)
	for _, t := range p.touching {
		c.add(ReasonPoolTouchesReserved, block, "spec.addresses", upperFirst(t.Message)+".",
			"Take the addresses out of the pool before anything is assigned from it.")
	}
	if len(p.Announcers) == 0 {
		c.add(ReasonPoolNotAnnounced, ask, "", "No advertisement selects the pool: its addresses are assigned, and nobody answers for them.",
			"Create an L2Advertisement or BGPAdvertisement that selects it.")
	}
	if p.Unreadable != "" {
		c.add(ReasonPoolUnreadable, inform, "spec", "It cannot be told who may take from the pool: "+p.Unreadable+".",
			"Limit it with spec.serviceAllocation.namespaces.")
	}
	if p.AutoAssign {
		w.autoAssigned(c, p)
	}
	return c.findings()
}

// autoAssigned finds addresses in use that the pool would hand to the next Service that asks for any address.
func (w *world) autoAssigned(c *collector, p poolView) {
	var used []netip.Addr
	for a := range w.users {
		if p.Contains(a) {
			used = append(used, a)
		}
	}
	slices.SortFunc(used, netip.Addr.Compare)
	for _, a := range used {
		if objects := w.byField(a); len(objects) > 0 {
			c.add(ReasonPoolAutoAssign, ask, "spec.autoAssign", fmt.Sprintf("%s is an externalIP of %s, and the pool may assign it to any Service.",
				a, some(objects)),
				"Set autoAssign: false, or take the address out of the pool.")
		}
	}
}

// byField names the Services that carry a by the field, at most a few.
func (w *world) byField(a netip.Addr) []string {
	var out []string
	for _, u := range w.users[a] {
		if u.byField[a] {
			out = append(out, u.object)
		}
		if len(out) > 4 {
			break
		}
	}
	return out
}

// unseen lists what was not looked at: what the caller says, and every nil list.
func unseen(c Cluster) []Unseen {
	out := slices.Clone(c.Unseen)
	for _, look := range []struct {
		kind string
		nil  bool
	}{
		{"Node", c.Nodes == nil},
		{"EndpointSlice", c.EndpointSlices == nil},
		{"ServiceCIDR", c.ServiceCIDRs == nil},
		{
			"Gateway",
			c.Gateways == nil,
		},
		{"MigrationPolicy", c.Policies == nil},
		{"IPAddressPool", c.Pools == nil},
		{"DNS", c.Names == nil},
		{
			"API server address",
			c.APIServers == nil,
		},
		{"Workload", c.Workloads == nil},
		{"Ingress", c.Ingresses == nil},
		{"NetworkPolicy", c.NetworkPolicies == nil},
		{"ConfigMap of the cluster", c.ConfigMaps == nil},
		{"Object of another project", c.Others == nil},
	} {
		said := slices.ContainsFunc(out, func(u Unseen) bool { return u.Kind == look.kind })
		if look.nil && !said {
			out = append(out, Unseen{Kind: look.kind, Why: "it was not given"})
		}
	}
	return out
}
