package migration

import (
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
	"offramp.dev/gateway"
	"offramp.dev/inventory"
)

// AnyHolder as the name of a holder means every Service of its namespace: the Service that a Gateway implementation
// generates has a name that only the implementation knows.
const AnyHolder = "*"

// checkNames accepts the names that answer with an old address; another one is not ours to move.
func (p *planner) checkNames() {
	if len(p.Names) > mostNames {
		p.block(inventory.ReasonTooManyNames, "EntryPoint "+p.EntryPoint.Name,
			fmt.Sprintf("There are %d names, a plan holds at most %d.", len(p.Names), mostNames), "split the entry point with spec.members")
		return
	}
	names := make([]dnsctl.Name, 0, len(p.Names))
	for _, n := range p.Names {
		n = copyName(n)
		// Servers rotate their answers; the plan, and with it the hash, must not.
		slices.SortFunc(n.Snapshot.A.Addresses, netip.Addr.Compare)
		slices.SortFunc(n.Snapshot.AAAA.Addresses, netip.Addr.Compare)
		names = append(names, n)
	}
	slices.SortStableFunc(names, func(a, b dnsctl.Name) int { return strings.Compare(a.Name, b.Name) })
	names = slices.CompactFunc(names, func(a, b dnsctl.Name) bool { return a.Name == b.Name })
	for _, n := range names {
		p.checkName(n)
	}
}

func (p *planner) checkName(n dnsctl.Name) {
	object := "Name " + shownName(n.Name)
	if err := dnsctl.ValidateName(n.Name); err != nil {
		p.block(inventory.ReasonHostnameInvalid, object, sentence(err.Error()), "correct the annotation "+v1alpha1.AnnotationHostnames)
		return
	}
	n.Old, n.New = intersection(n.Snapshot, p.plan.OldAddresses), nil
	n.LowTTL = lowTTL(n.Snapshot, p.plan.Settings.LowTTL)
	switch {
	case n.Snapshot.Alias != "":
		p.block(FindingNameCannotMove, object, "The name is an alias of "+shownName(n.Snapshot.Alias)+".", "move the target of the alias instead")
	case len(n.Old) == 0:
		p.find(v1alpha1.SeverityInform, inventory.ReasonNameNotLive, object,
			"The name answers with none of the old addresses, so it is left alone.", "point the name at the entry point first, if it belongs to it")
	case !slices.Contains(p.Policy.Spec.Zones, n.Zone):
		p.block(inventory.ReasonNameNotAllowed, object,
			fmt.Sprintf("The name lies in the DNSZone %s, which MigrationPolicy %s does not list.", addresspool.Quote(n.Zone), p.Policy.Name),
			"add the zone to spec.zones of the policy, or take the name out of the annotation "+v1alpha1.AnnotationHostnames)
	default:
		p.accepted = append(p.accepted, n)
	}
}

func shownName(name string) string {
	if dnsctl.ValidateName(name) == nil {
		return name
	}
	return addresspool.Quote(name)
}

func intersection(r dnsctl.RecordSet, old []netip.Addr) []netip.Addr {
	var out []netip.Addr
	for _, a := range slices.Concat(r.A.Addresses, r.AAAA.Addresses) {
		if slices.Contains(old, a) {
			out = append(out, a)
		}
	}
	return sortedAddresses(out)
}

// lowTTL is the policy's, never above what the name has, and at least a second: resolvers treat 0 in different ways.
func lowTTL(r dnsctl.RecordSet, low int64) uint32 {
	for _, set := range []dnsctl.RRset{r.A, r.AAAA} {
		if len(set.Addresses) > 0 {
			low = min(low, int64(set.TTL))
		}
	}
	return uint32(min(max(low, 1), math.MaxUint32))
}

// checkStrategy refuses what the members, or the nodes, do not allow.
func (p *planner) checkStrategy() {
	object := "EntryPoint " + p.EntryPoint.Name
	switch p.Strategy {
	case v1alpha1.StrategyLoadBalancer:
	case v1alpha1.StrategyGateway:
		if p.Policy.Spec.Gateway == nil {
			p.block(gateway.ReasonNoGatewaySettings, "MigrationPolicy "+p.Policy.Name+" spec.gateway",
				"The policy does not say which GatewayClass to use and in which namespace.",
				"set spec.gateway.className and spec.gateway.namespace in the policy")
		}
	case v1alpha1.StrategyNone:
		p.block(FindingNothingToMove, object, "Nothing is served through the field, so there is nothing to move.",
			"remove spec.externalIPs from the Services")
	case v1alpha1.StrategyAdopt:
		p.checkAdoption(object)
	default:
		p.block(inventory.ReasonPolicyForbidsStrategy, object+" spec.strategy",
			addresspool.Quote(string(p.Strategy))+" is no strategy.", "choose Gateway, LoadBalancer or Adopt")
	}
}

func (p *planner) checkAdoption(object string) {
	if p.ProxyMode == v1alpha1.ProxyIPVS {
		p.block(inventory.ReasonIPVSMode, object,
			"kube-proxy runs in ipvs mode, which unbinds the address while the field is removed and cuts connections.",
			"choose spec.strategy LoadBalancer, or move kube-proxy to nftables first")
	}
	for _, svc := range p.members {
		if why := adoptFault(svc); why != "" {
			p.block(FindingCannotAdopt, "Service "+keyOf(svc)+" spec.type", "The Service cannot be adopted: "+why+".",
				"choose spec.strategy LoadBalancer, or change the type to NodePort first, which clears its present balancer address")
		}
	}
}

// takeNewAddresses finds one address for each family of the old ones, or keeps the old ones.
func (p *planner) takeNewAddresses() {
	if p.Strategy == v1alpha1.StrategyAdopt {
		p.plan.NewAddresses = slices.Clone(p.plan.OldAddresses)
		return
	}
	for _, family := range []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol} {
		needed := slices.ContainsFunc(p.plan.OldAddresses, func(a netip.Addr) bool { return familyOf(a) == family })
		switch {
		case !needed:
		case p.static():
			p.takeStatic(family)
		default:
			p.takePooled(family)
		}
	}
	for _, a := range p.plan.NewAddresses {
		if slices.Contains(p.plan.OldAddresses, a) {
			p.block(inventory.ReasonAddressConflict, "EntryPoint "+p.EntryPoint.Name,
				fmt.Sprintf("%s is both an old and the new address.", a), "choose spec.strategy Adopt, or another pool")
		}
	}
}

// static tells whether an admin's Service carries the address of all Gateways.
func (p *planner) static() bool {
	if p.Strategy != v1alpha1.StrategyGateway {
		return false
	}
	if profile := p.Policy.Spec.Gateway.Profile; profile != "" {
		return profile == v1alpha1.BindingStaticService
	}
	return p.Profile.Binding == v1alpha1.BindingStaticService
}

func (p *planner) takeStatic(family corev1.IPFamily) {
	for _, a := range sortedAddresses(p.StaticAddresses) {
		if a = a.Unmap(); a.IsValid() && familyOf(a) == family {
			p.plan.NewAddresses = append(p.plan.NewAddresses, a)
			return
		}
	}
	p.block(FindingFamilyMismatch, "MigrationPolicy "+p.Policy.Name+" spec.gateway.staticService",
		fmt.Sprintf("The static Service has no %s address, but the entry point has one.", family),
		"give the static Service an address of that family")
}

func (p *planner) takePooled(family corev1.IPFamily) {
	pools := p.usablePools()
	if a, ok := p.frozenAddress(family, pools); ok {
		p.plan.NewAddresses = append(p.plan.NewAddresses, a)
		return
	}
	uses := slices.Clone(p.Uses)
	for _, old := range p.plan.OldAddresses {
		uses = append(uses, addresspool.Use{Address: old, Object: "EntryPoint " + p.EntryPoint.Name})
	}
	a, _, err := addresspool.Pick(pools, p.Policy.Spec.Pools, p.Ledger, uses, p.EntryPoint.Name, family == corev1.IPv6Protocol)
	if err == nil {
		p.plan.NewAddresses = append(p.plan.NewAddresses, a)
		return
	}
	reason := inventory.ReasonPoolUnusable
	if len(p.Policy.Spec.Pools) == 0 {
		reason = inventory.ReasonPoolMissing
	}
	p.block(reason, "MigrationPolicy "+p.Policy.Name+" spec.pools", sentence(err.Error()),
		"name a pool in the policy that has a free address, is announced, and may serve the target's namespace")
}

// usablePools are those that every target's namespace may take from; one that cannot be read stays, for Pick to name.
func (p *planner) usablePools() []addresspool.Pool {
	var out []addresspool.Pool
	for _, pool := range p.Pools {
		forbidden := slices.ContainsFunc(p.targetNamespaces(), func(ns string) bool { return !pool.Allows(ns) })
		if pool.Unreadable != "" || !forbidden {
			out = append(out, pool)
		}
	}
	return out
}

func (p *planner) targetNamespaces() []string {
	if p.Strategy == v1alpha1.StrategyGateway {
		return []string{p.Policy.Spec.Gateway.Namespace}
	}
	var out []string
	for _, svc := range p.members {
		out = append(out, svc.Namespace)
	}
	return out
}

// frozenAddress is the recorded plan's, while a pool of the policy still holds it and nobody else does.
func (p *planner) frozenAddress(family corev1.IPFamily, pools []addresspool.Pool) (netip.Addr, bool) {
	if p.Frozen == nil || p.Frozen.Strategy == v1alpha1.StrategyAdopt {
		return netip.Addr{}, false
	}
	for _, a := range p.Frozen.NewAddresses {
		held := slices.ContainsFunc(pools, func(pool addresspool.Pool) bool {
			return pool.Unreadable == "" && slices.Contains(p.Policy.Spec.Pools, pool.Name) && pool.Contains(a)
		})
		if familyOf(a) == family && held && len(p.conflicts(addresspool.Claim{Address: a, Role: addresspool.New})) == 0 {
			return a, true
		}
	}
	return netip.Addr{}, false
}

// conflicts are Admit's, but for what our own target uses (see ownUse), and for what other entry points only mean to take
// of a shared address: their listeners are known once they have claimed, and the claim is the lock.
func (p *planner) conflicts(c addresspool.Claim) []addresspool.Conflict {
	c.EntryPoint = p.EntryPoint.Name
	uses := p.Uses
	if c.Shared() {
		uses = slices.DeleteFunc(slices.Clone(uses), func(u addresspool.Use) bool { return strings.HasPrefix(u.Object, "EntryPoint ") })
	}
	if c.Role == addresspool.New {
		uses = slices.DeleteFunc(slices.Clone(uses), p.ownUse)
	}
	return addresspool.Admit(p.Ledger, uses, c)
}

// ownUse tells whether a use of an address that was recorded for us may be our target's: a Service or Gateway in the
// Gateways' namespace, since the name of a generated Service is not known.
func (p *planner) ownUse(u addresspool.Use) bool {
	recorded := p.Frozen != nil && slices.Contains(p.Frozen.NewAddresses, u.Address.Unmap())
	if !recorded || p.Strategy != v1alpha1.StrategyGateway {
		return false
	}
	kind, name, _ := strings.Cut(u.Object, " ")
	namespace, _, _ := strings.Cut(name, "/")
	return namespace == p.Policy.Spec.Gateway.Namespace && (kind == "Service" || kind == "Gateway")
}

// holderOf reads a parallel Service from the plan's objects.
func holderOf(text json.RawMessage) (addresspool.Holder, bool) {
	var svc corev1.Service
	if err := json.Unmarshal(text, &svc); err != nil || svc.Kind != "Service" {
		return addresspool.Holder{}, false
	}
	return addresspool.Holder{Namespace: svc.Namespace, Name: svc.Name, Ports: portsOf(&svc)}, true
}
