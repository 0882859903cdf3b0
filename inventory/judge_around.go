package inventory

import (
	"fmt"
	"net/netip"
	"slices"

	"offramp.dev/api/v1alpha1"
)

// judgeSettings are findings about the cluster's own settings.
func (w *world) judgeSettings() []v1alpha1.Finding {
	var out []v1alpha1.Finding
	if w.proxyFree != "" {
		c := collect(w.proxyFreeBy)
		c.add(ReasonKubeProxyFree, inform, "", fmt.Sprintf("%s serves Services without kube-proxy, so the gate AllowServiceExternalIPs does not "+
			"apply: the releases of %s decide how long the field works.", w.proxyFree, w.proxyFree),
			"Read its release notes before each upgrade, and probe from outside the cluster: from inside, only local addresses may be translated.")
		out = append(out, c.findings()...)
	}
	if w.gateOff != "" {
		c := collect(w.gateOff)
		c.add(ReasonGateOff, ask, "featureGates.AllowServiceExternalIPs", "kube-proxy is told to serve no externalIPs: no address in this catalog "+
			"carries traffic through it.", "Probe the addresses; what answers is served by something else, what does not can go.")
		out = append(out, c.findings()...)
	}
	return out
}

// judgeHolders tells of addresses that objects of other projects hold and no Service does yet.
func (w *world) judgeHolders() []v1alpha1.Finding {
	var out []v1alpha1.Finding
	for _, h := range w.holders {
		var alone []string
		for _, a := range h.addresses {
			if !w.held[a] {
				alone = append(alone, a.String())
			}
		}
		if len(alone) == 0 {
			continue
		}
		c := collect(h.object)
		c.add(ReasonFieldInObject, ask, h.path, fmt.Sprintf("It holds %s for a Service that its operator or chart writes.", some(alone)),
			"Migrate there: choose another way of exposing the application in this object.")
		out = append(out, c.findings()...)
	}
	return out
}

// judgeAllocators finds addresses in use that somebody would hand to another Service.
func (w *world) judgeAllocators() []v1alpha1.Finding {
	var out []v1alpha1.Finding
	used := slices.SortedFunc(func(yield func(netip.Addr) bool) {
		for a := range w.users {
			if !yield(a) {
				return
			}
		}
	}, netip.Addr.Compare)
	for _, o := range w.allocators {
		c := collect(o.object)
		w.tellAssignable(c, o.ranges, used, "Take the address out of the pool, or narrow the pool with spec.serviceSelector.")
		out = append(out, c.findings()...)
	}
	if len(w.openShift) > 0 {
		c := collect(w.openShift[0].object)
		// What OpenShift assigned itself collides with nothing.
		used = slices.DeleteFunc(used, func(a netip.Addr) bool {
			return !slices.ContainsFunc(w.fieldHolders(a), func(key string) bool { return !w.autoAssigns(w.carried[key]) })
		})
		w.tellAssignable(c, w.openShift, used, "Take the address out of spec.externalIP.autoAssignCIDRs.")
		out = append(out, c.findings()...)
	}
	return out
}

func (w *world) tellAssignable(c *collector, ranges spans, used []netip.Addr, fix string) {
	for _, a := range used {
		if _, ok := ranges.find(a); !ok {
			continue
		}
		if objects := w.byField(a); len(objects) > 0 {
			c.add(ReasonPoolAutoAssign, ask, "spec", fmt.Sprintf("%s is an externalIP of %s, and may be assigned to any Service.", a, some(objects)), fix)
		}
	}
}
