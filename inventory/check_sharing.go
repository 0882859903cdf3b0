package inventory

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"offramp.dev/api/v1alpha1"
)

// clash is what one user of an address collides with.
type clash struct {
	others []string
	ports  []string
}

// clashes finds, for the users of one address, who serves the same port as somebody else. The answer depends on the users
// alone and is kept, because two Services that share one address often share thousands.
func (w *world) clashes(a netip.Addr) map[string]clash {
	if got, ok := w.clashesAt[a]; ok {
		return got
	}
	got := w.clashesAmong(w.users[a])
	w.clashesAt[a] = got
	return got
}

func (w *world) clashesAmong(users []user) map[string]clash {
	if len(users) < 2 {
		return nil
	}
	var key strings.Builder
	for _, u := range users {
		key.WriteString(u.object + "\n")
	}
	if got, ok := w.conflicts[key.String()]; ok {
		return got
	}
	found := clashesOf(users)
	w.conflicts[key.String()] = found
	return found
}

// clashesOf names for each user at most a few others, so that a thousand users of one port cost a thousand steps.
func clashesOf(users []user) map[string]clash {
	const most = 4
	byPort := map[string][]string{}
	for _, u := range users {
		for p := range u.ports {
			byPort[p] = append(byPort[p], u.object)
		}
	}
	out := map[string]clash{}
	for _, p := range slices.Sorted(maps.Keys(byPort)) {
		objects := byPort[p]
		if len(objects) < 2 {
			continue
		}
		for _, object := range objects {
			c := out[object]
			c.ports = append(c.ports, p)
			for _, other := range objects[:min(len(objects), most+1)] {
				if other != object && len(c.others) < most && !slices.Contains(c.others, other) {
					c.others = append(c.others, other)
				}
			}
			out[object] = c
		}
	}
	return out
}

// checkConflicts tells who else serves the same address and port: each node and each sync may take the other one.
func (w *world) checkConflicts(c *collector, m *member) {
	for i, v := range m.values {
		got, ok := w.clashes(v.addr)[m.object()]
		if !ok || !v.live() {
			continue
		}
		a := v.addr
		others := slices.DeleteFunc(slices.Clone(got.others), func(o string) bool { return ownGateway(m, o) })
		if len(others) == 0 {
			continue
		}
		c.add(ReasonAddressConflict, block, fmt.Sprintf("spec.externalIPs[%d]", i),
			fmt.Sprintf("%s is served on %s by %s as well; who gets a connection is left to chance.", a, some(got.ports), some(others)),
			"Take the address or the port out of all but one of them.")
	}
}

// ownGateway tells that the other object is the Gateway that the Service was made for.
func ownGateway(m *member, object string) bool {
	kind, name := gatewayOf(m.svc)
	return kind == "Gateway" && object == "Gateway "+m.svc.Namespace+"/"+name
}

// quietUsers are those that meet nobody on a port; the others are told as conflicts.
func (w *world) quietUsers(a netip.Addr) []user {
	if got, ok := w.quiet[a]; ok {
		return got
	}
	clashes := w.clashes(a)
	out := []user{}
	for _, u := range w.users[a] {
		if _, clash := clashes[u.object]; !clash {
			out = append(out, u)
		}
	}
	w.quiet[a] = out
	return out
}

// checkShared tells who else uses an address of the group on other ports. They stay where they are. Where names leave the
// address, somebody without a name of its own may be reached by those names too, and would be lost: a human must know.
func (w *world) checkShared(c *collector, g *group) {
	own := make(map[string]bool, len(g.members))
	for _, m := range g.members {
		own[m.object()] = true
	}
	leaves := g.choice.strategy != v1alpha1.StrategyAdopt && len(g.names()) > 0
	for _, a := range g.addresses() {
		others, nameless := w.strangers(g, own, a)
		switch {
		case len(others) == 0:
		case leaves && nameless != "":
			c.add(ReasonSharedAddress, ask, "spec.externalIPs",
				fmt.Sprintf("%s is used by %s too, and nothing tells by which name clients reach %s: it may be one that moves.", a, some(others),
					nameless),
				"Give "+nameless+" the same name to move it along, or a name of its own, or confirm that nobody uses it by the names that move.")
		default:
			c.add(ReasonSharedAddress, inform, "spec.externalIPs",
				fmt.Sprintf("%s is used by %s too; they are not part of this entry point and stay.", a, some(others)),
				"Migrate them as well before the address is given up.")
		}
	}
}

// strangers are the others that use the address, at most a few, and the first of them that uses it by the field without a
// name of its own.
func (w *world) strangers(g *group, own map[string]bool, a netip.Addr) (others []string, nameless string) {
	const most = 4
	for _, u := range w.quietUsers(a) {
		if own[u.object] || slices.ContainsFunc(g.members, func(m *member) bool { return ownGateway(m, u.object) }) {
			continue
		}
		others = append(others, u.object)
		if nameless == "" && len(u.byField) > 0 && !u.named {
			nameless = u.object
		}
		if len(others) == most {
			break
		}
	}
	return others, nameless
}

// checkNames judges what a member's annotations bring.
func checkNames(c *collector, m *member) {
	for _, text := range m.badNames {
		c.add(ReasonHostnameInvalid, ask, "metadata.annotations", quote(text)+" is no DNS name, so it will not be moved.",
			"Correct or remove it.")
	}
	if m.tooManyNames > MaxNames {
		c.add(ReasonTooManyNames, block, "metadata.annotations", fmt.Sprintf("%d names are more than the %d that one Service may bring.",
			m.tooManyNames, MaxNames),
			"Name a common CNAME target instead, or split the Service.")
	}
	for _, name := range m.deadNames {
		c.add(ReasonNameNotLive, inform, "metadata.annotations", name+" does not answer with an address of the Service, so it is not moved.",
			"Nothing to do, or remove it.")
	}
	for _, name := range m.refusedNames {
		c.add(ReasonNameNotAllowed, ask, "metadata.annotations", fmt.Sprintf("No DNSZone of the policy lets namespace %s move %s.",
			namespaceOf(m), name),
			"Grant the domain in DNSZone spec.domains, or move the name by hand.")
	}
	checkExternalDNS(c, m)
}

// checkExternalDNS warns where external-dns reads the Service. For LoadBalancer and ExternalName the field wins over
// status, so its records change at the moment the field goes.
func checkExternalDNS(c *collector, m *member) {
	for _, prefix := range externalDNSPrefixes() {
		if m.svc.Annotations[prefix+"hostname"] == "" {
			continue
		}
		field := "metadata.annotations[" + prefix + "hostname]"
		switch m.svc.Spec.Type {
		case corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeExternalName:
			if m.redundant {
				continue
			}
			c.add(ReasonExternalDNS, ask, field, "external-dns publishes externalIPs of this Service: its records change at the moment the field "+
				"goes.",
				"Set annotation "+prefix+"target to the address that must stay published, then go on.")
		case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort:
			fallthrough
		default: // empty is ClusterIP
			c.add(ReasonExternalDNS, inform, field, "external-dns may read this Service; it publishes no externalIPs of a "+typeText(m.svc)+" "+
				"Service.",
				"Check who writes the name before it is moved.")
		}
	}
}

// checkGroupNames judges the names of the group as a whole.
func (w *world) checkGroupNames(c *collector, g *group) {
	names := g.names()
	if len(names) == 0 {
		w.noName(c, g)
		return
	}
	if len(g.members) > 1 {
		c.add(ReasonSharedName, inform, "", fmt.Sprintf("%s are joined by %s and move together.", some(g.keys()), some(names)), "Nothing to do.")
	}
	own := map[netip.Addr]bool{}
	for _, a := range g.addresses() {
		own[a] = true
	}
	for _, name := range names {
		var foreign []string
		for _, a := range w.names[name] {
			if !own[a.Unmap()] {
				foreign = append(foreign, a.Unmap().String())
			}
		}
		if len(foreign) > 0 {
			slices.Sort(foreign)
			c.add(ReasonNameHasOthers, inform, "", fmt.Sprintf("%s answers with %s too, which is not this entry point's and stays.", name,
				some(slices.Compact(foreign))), "Nothing to do.")
		}
	}
}

func (w *world) noName(c *collector, g *group) {
	how := "No name leads to the addresses"
	if w.names == nil {
		how = "No annotation names it (DNS was not looked at)"
	}
	severity, fix := v1alpha1.SeverityAsk, "Name it with annotation "+v1alpha1.AnnotationHostnames+", or tell every client the new address."
	if g.choice.strategy == v1alpha1.StrategyAdopt {
		severity, fix = inform, "Nothing to do while the address stays; to move it, annotate "+v1alpha1.AnnotationHostnames+"."
	}
	c.add(ReasonNoName, severity, "", how+", so DNS cannot move its clients.", fix)
}
