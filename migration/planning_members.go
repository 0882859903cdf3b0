package migration

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
	"offramp.dev/inventory"
)

func (p *planner) checkObjects() {
	if p.EntryPoint == nil {
		p.block(FindingMemberMissing, "EntryPoint", "There is no EntryPoint to plan for.", "create the EntryPoint, or opt its Services in again")
		return
	}
	if p.Policy == nil {
		p.block(inventory.ReasonPolicyMissing, "EntryPoint "+p.EntryPoint.Name+" spec.policy",
			fmt.Sprintf("The MigrationPolicy %s does not exist.", addresspool.Quote(p.EntryPoint.Spec.Policy)),
			"create the MigrationPolicy, or name an existing one in the annotation "+v1alpha1.AnnotationPolicy)
	}
}

// takeMembers takes each member once, in order. Services that are no members are not touched by the plan.
func (p *planner) takeMembers() {
	found := map[string]*corev1.Service{}
	for _, svc := range p.Services {
		if svc != nil {
			found[keyOf(svc)] = svc
		}
	}
	for _, m := range p.EntryPoint.Spec.Members {
		if key := m.Namespace + "/" + m.Name; found[key] == nil {
			p.block(FindingMemberMissing, "Service "+key, "The Service is a member of the entry point and does not exist.",
				"create it again, or take it out of spec.members of EntryPoint "+p.EntryPoint.Name)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if p.isListed(found[key]) {
			p.members = append(p.members, found[key])
		}
	}
	if n := len(p.members); n == 0 || n > mostMembers {
		p.members = nil
		p.block(FindingTooManyMembers, "EntryPoint "+p.EntryPoint.Name+" spec.members",
			fmt.Sprintf("There are %d members, a plan is made for 1 to %d.", n, mostMembers), "name the Services that move together in spec.members")
		return
	}
	for _, svc := range p.members {
		p.takeMember(svc)
	}
}

func keyOf(svc *corev1.Service) string { return svc.Namespace + "/" + svc.Name }

func (p *planner) isListed(svc *corev1.Service) bool {
	listed := p.EntryPoint.Spec.Members
	return len(listed) == 0 || slices.Contains(listed, v1alpha1.ServiceReference{Namespace: svc.Namespace, Name: svc.Name})
}

func (p *planner) takeMember(svc *corev1.Service) {
	object := "Service " + keyOf(svc)
	if n := len(svc.Spec.Ports); n == 0 || n > mostPorts {
		p.block(inventory.ReasonTooManyPorts, object+" spec.ports",
			fmt.Sprintf("The Service has %d ports, a plan is made for 1 to %d.", n, mostPorts), "split the Service")
		return
	}
	for _, port := range svc.Spec.Ports {
		known := slices.Contains([]corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}, protocolOf(port))
		if port.Port < 1 || port.Port > 65535 || !known {
			p.block(FindingBadPort, object+" spec.ports",
				fmt.Sprintf("Port %d of protocol %s is none.", port.Port, addresspool.Quote(string(port.Protocol))), "correct the port")
			return
		}
	}
	if !slices.Contains(p.Policy.Spec.Namespaces, svc.Namespace) {
		p.block(inventory.ReasonPolicyForbidsNamespace, object,
			fmt.Sprintf("MigrationPolicy %s does not list the namespace %s.", p.Policy.Name, svc.Namespace),
			"add the namespace to spec.namespaces of the policy, or opt into another one")
	}
	doc, err := EncodeDocument(reliedOn(svc))
	if err != nil {
		p.block(FindingPlanTooLarge, object, sentence(err.Error()), "correct the Service")
		return
	}
	p.plan.Members = append(p.plan.Members, Member{
		Namespace: svc.Namespace, Name: svc.Name, UID: string(svc.UID), Ports: portsOf(svc), Spec: doc.SHA256,
	})
}

// reliance is what the plan relies on: what the target copies from the Service, and what the walk changes in it.
type reliance struct {
	Type        corev1.ServiceType
	ClusterIP   string
	Addresses   []string
	Selector    map[string]string
	Ports       []corev1.ServicePort
	External    corev1.ServiceExternalTrafficPolicy
	Internal    *corev1.ServiceInternalTrafficPolicy
	Affinity    corev1.ServiceAffinity
	Config      *corev1.SessionAffinityConfig
	Families    []corev1.IPFamily
	FamilyRule  *corev1.IPFamilyPolicy
	NotReady    bool
	Distributed *string
	Class       *string
}

func reliedOn(svc *corev1.Service) reliance {
	s := &svc.Spec
	return reliance{
		Type: s.Type, ClusterIP: s.ClusterIP, Addresses: s.ExternalIPs, Selector: s.Selector, Ports: s.Ports,
		External: s.ExternalTrafficPolicy, Internal: s.InternalTrafficPolicy, Affinity: s.SessionAffinity, Config: s.SessionAffinityConfig,
		Families: s.IPFamilies, FamilyRule: s.IPFamilyPolicy, NotReady: s.PublishNotReadyAddresses, Distributed: s.TrafficDistribution,
		Class: s.LoadBalancerClass,
	}
}

// portsOf are a Service's ports as "TCP/80", once each, by protocol and number.
func portsOf(svc *corev1.Service) []string {
	ports := slices.Clone(svc.Spec.Ports)
	slices.SortStableFunc(ports, func(a, b corev1.ServicePort) int {
		return cmp.Or(strings.Compare(string(protocolOf(a)), string(protocolOf(b))), cmp.Compare(a.Port, b.Port))
	})
	out := []string{}
	for _, port := range ports {
		out = append(out, portText(port))
	}
	return slices.Compact(out)
}

func portText(port corev1.ServicePort) string {
	return fmt.Sprintf("%s/%d", protocolOf(port), port.Port)
}

func (p *planner) checkPolicy() {
	object := "MigrationPolicy " + p.Policy.Name
	allowed := p.Policy.Spec.Strategies
	if len(allowed) > 0 && p.Strategy != v1alpha1.StrategyNone && !slices.Contains(allowed, p.Strategy) {
		p.block(inventory.ReasonPolicyForbidsStrategy, object+" spec.strategies",
			fmt.Sprintf("The policy allows %v, not %s.", allowed, addresspool.Quote(string(p.Strategy))),
			"choose an allowed one in spec.strategy of the entry point, or extend the policy")
	}
	if err := dnsctl.ValidateShares(p.plan.Settings.Percents); err != nil {
		p.block(FindingBadShares, object+" spec.dns.sharePercents", sentence(err.Error()), "correct the list, or leave it out")
	}
}

// takeOldAddresses reads the field of each member, in canonical form.
func (p *planner) takeOldAddresses() {
	var all []netip.Addr
	for _, svc := range p.members {
		if n := len(svc.Spec.ExternalIPs); n > mostAddresses {
			p.tooManyAddresses(svc, n)
			continue
		}
		addrs := p.addressesOf(svc)
		p.carried[keyOf(svc)] = addrs
		all = append(all, addrs...)
	}
	all = sortedAddresses(all)
	if len(all) > mostAddresses {
		p.block(inventory.ReasonTooManyAddresses, "EntryPoint "+p.EntryPoint.Name,
			fmt.Sprintf("The members carry %d addresses, a plan holds at most %d.", len(all), mostAddresses),
			"split the entry point with spec.members")
	}
	if len(all) == 0 && !p.blocked() {
		p.block(FindingNothingToMove, "EntryPoint "+p.EntryPoint.Name, "No member has an address in spec.externalIPs.",
			"delete the EntryPoint, or the opt-in annotation of its Services")
	}
	p.plan.OldAddresses = all
}

func (p *planner) tooManyAddresses(svc *corev1.Service, n int) {
	p.block(inventory.ReasonTooManyAddresses, "Service "+keyOf(svc)+" spec.externalIPs",
		fmt.Sprintf("The field holds %d values, a plan holds at most %d addresses.", n, mostAddresses), "remove the addresses that nobody uses")
}

func (p *planner) addressesOf(svc *corev1.Service) []netip.Addr {
	var out []netip.Addr
	for _, text := range svc.Spec.ExternalIPs {
		addr, _, err := addresspool.Canonical(text)
		if err != nil {
			p.block(inventory.ReasonBadAddress, "Service "+keyOf(svc)+" spec.externalIPs", sentence(err.Error()), "correct or remove the value")
			continue
		}
		if !servesFamily(svc, addr) {
			p.block(FindingFamilyMismatch, "Service "+keyOf(svc)+" spec.externalIPs",
				fmt.Sprintf("%s is of a family that the Service does not serve, so it carries no traffic.", addr),
				"remove the address, or add its family to the Service")
		}
		out = append(out, addr)
	}
	return sortedAddresses(out)
}

// servesFamily is true where the Service does not say (files, before defaulting).
func servesFamily(svc *corev1.Service, a netip.Addr) bool {
	return len(svc.Spec.IPFamilies) == 0 || slices.Contains(svc.Spec.IPFamilies, familyOf(a))
}

func familyOf(a netip.Addr) corev1.IPFamily {
	if a.Is4() {
		return corev1.IPv4Protocol
	}
	return corev1.IPv6Protocol
}

func sortedAddresses(in []netip.Addr) []netip.Addr {
	out := append(make([]netip.Addr, 0, len(in)), in...)
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}
