package migration

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/inventory"
)

// takeClaims writes the rows of the ledger, and refuses those that somebody else stands in the way of.
func (p *planner) takeClaims() {
	p.writeClaims()
	for _, c := range p.plan.Ledger() {
		for _, conflict := range p.conflicts(c) {
			p.block(inventory.ReasonAddressConflict, conflict.Object, sentence(conflict.Message), conflictFix(c))
		}
	}
}

// writeClaims makes a row of every old address for the members that carry it, of every new one for what will carry it.
func (p *planner) writeClaims() {
	role := addresspool.Old
	if p.Strategy == v1alpha1.StrategyAdopt {
		role = addresspool.Adopted
	}
	for _, a := range p.plan.OldAddresses {
		p.takeClaim(addresspool.Claim{Address: a, Role: role, Holders: p.carriers(a)})
	}
	if role == addresspool.Adopted {
		return
	}
	for _, a := range p.plan.NewAddresses {
		p.takeClaim(addresspool.Claim{Address: a, Role: addresspool.New, Holders: p.targetHolders()})
	}
}

func (p *planner) takeClaim(c addresspool.Claim) {
	c.EntryPoint = p.EntryPoint.Name
	p.plan.Claims = append(p.plan.Claims, c)
}

func conflictFix(c addresspool.Claim) string {
	if c.Shared() {
		return "give the entry point ports and hostnames of its own, wait until the present holder has let them go, or choose spec.strategy LoadBalancer"
	}
	return "free the address, or wait until its present holder has let it go"
}

// carriers are the members that carry an old address.
func (p *planner) carriers(a netip.Addr) []addresspool.Holder {
	out := []addresspool.Holder{}
	for _, svc := range p.members {
		if slices.Contains(p.carried[keyOf(svc)], a) {
			out = append(out, addresspool.Holder{Namespace: svc.Namespace, Name: svc.Name, Ports: portsOf(svc)})
		}
	}
	return out
}

// targetHolders are what will carry the new addresses: the parallel Services, the static Service, or whatever Service
// the implementation generates in the Gateways' namespace (AnyHolder).
func (p *planner) targetHolders() []addresspool.Holder {
	out := []addresspool.Holder{}
	if p.Strategy == v1alpha1.StrategyLoadBalancer {
		for _, text := range p.plan.Objects {
			if h, ok := holderOf(text); ok {
				out = append(out, h)
			}
		}
		slices.SortFunc(out, func(a, b addresspool.Holder) int {
			return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
		})
		return out
	}
	holder := addresspool.Holder{Namespace: p.Policy.Spec.Gateway.Namespace, Name: AnyHolder, Ports: p.allPorts()}
	if static := p.Policy.Spec.Gateway.StaticService; p.static() && static != nil {
		holder.Namespace, holder.Name = static.Namespace, static.Name
	}
	return append(out, holder)
}

func (p *planner) allPorts() []string {
	all := &corev1.Service{}
	for _, svc := range p.members {
		all.Spec.Ports = append(all.Spec.Ports, svc.Spec.Ports...)
	}
	return portsOf(all)
}

// takeChecks makes one check for each old address and port, beside the new address of the same family.
func (p *planner) takeChecks() {
	if n := len(p.allPorts()); n > mostPorts {
		p.block(inventory.ReasonTooManyPorts, "EntryPoint "+p.EntryPoint.Name,
			fmt.Sprintf("The members have %d ports, a plan holds at most %d.", n, mostPorts), "split the entry point with spec.members")
		return
	}
	for _, old := range p.plan.OldAddresses {
		for _, port := range p.portsAt(old) {
			if target, ok := p.counterpart(old); ok {
				p.plan.Checks = append(p.plan.Checks, p.check(old, target, port))
			}
		}
	}
	if n := len(p.plan.Checks); n > mostChecks {
		p.block(FindingPlanTooLarge, "EntryPoint "+p.EntryPoint.Name,
			fmt.Sprintf("Addresses times ports make %d checks, a plan holds at most %d.", n, mostChecks), "split the entry point with spec.members")
	}
}

// portsAt are the ports behind one old address, once each, in order; the first Service in order tells the kind.
func (p *planner) portsAt(old netip.Addr) []corev1.ServicePort {
	var out []corev1.ServicePort
	for _, svc := range p.members {
		if slices.Contains(p.carried[keyOf(svc)], old) {
			out = append(out, svc.Spec.Ports...)
		}
	}
	slices.SortStableFunc(out, func(a, b corev1.ServicePort) int {
		return cmp.Or(strings.Compare(string(protocolOf(a)), string(protocolOf(b))), cmp.Compare(a.Port, b.Port))
	})
	return slices.CompactFunc(out, func(a, b corev1.ServicePort) bool { return portText(a) == portText(b) })
}

// counterpart is the new address that replaces an old one: the same when adopted, else the one of its family.
func (p *planner) counterpart(old netip.Addr) (netip.Addr, bool) {
	if p.Strategy == v1alpha1.StrategyAdopt {
		return old, true
	}
	i := slices.IndexFunc(p.plan.NewAddresses, func(a netip.Addr) bool { return a.Is4() == old.Is4() })
	if i < 0 {
		return netip.Addr{}, false
	}
	return p.plan.NewAddresses[i], true
}

func (p *planner) check(old, target netip.Addr, port corev1.ServicePort) Check {
	var httpPorts []int32
	if g := p.Policy.Spec.Gateway; g != nil {
		httpPorts = g.HTTPPorts
	}
	kind := inventory.KindOf(port, httpPorts)
	c := Check{Old: old, New: target, Port: port.Port, Kind: string(kind)}
	if kind == inventory.PortHTTP || kind == inventory.PortTLS {
		c.Host = p.hostFor(old)
	}
	if kind == inventory.PortHTTP {
		c.Path = cmp.Or(p.Policy.Spec.Probes.HTTPPath, defaultHTTPPath)
	}
	return c
}

// hostFor is the first accepted name that answers with an old address and that a client can ask for: a wildcard is none.
// An adopted address keeps its names, so the record holds none of them: the name of the recorded checks stays.
func (p *planner) hostFor(old netip.Addr) string {
	if p.Frozen != nil && p.Strategy == v1alpha1.StrategyAdopt {
		i := slices.IndexFunc(p.Frozen.Checks, func(c Check) bool { return c.Old == old && c.Host != "" })
		if i < 0 {
			return ""
		}
		return p.Frozen.Checks[i].Host
	}
	for _, n := range p.accepted {
		if slices.Contains(n.Old, old) && !strings.HasPrefix(n.Name, "*") {
			return n.Name
		}
	}
	return ""
}

// parsePort reads "TCP/80".
func parsePort(text string) (protocol string, number int32, ok bool) {
	protocol, digits, found := strings.Cut(text, "/")
	n, err := strconv.ParseInt(digits, 10, 32)
	known := slices.Contains([]corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}, corev1.Protocol(protocol))
	if !found || err != nil || !known || n < 1 || n > 65535 {
		return "", 0, false
	}
	return protocol, int32(n), true
}
