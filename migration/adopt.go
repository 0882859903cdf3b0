package migration

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
)

// AdoptPatch makes a member type LoadBalancer of our class, in one patch, since the class can only travel with the type.
// Node ports are asked for only where the Service had some. The health check port is never pinned: the API server draws
// a free one. A Service that is adopted already, is no member, or is of a type that cannot become ours (see MakePlan's
// findings) gets no patch.
func AdoptPatch(live *corev1.Service, p *Plan) []PatchOp {
	if !p.isMember(live) || adoptFault(live) != "" || live.Spec.Type == corev1.ServiceTypeLoadBalancer {
		return nil
	}
	return []PatchOp{
		versionOp(live),
		{Op: "add", Path: pathType, Value: string(corev1.ServiceTypeLoadBalancer)},
		{Op: "add", Path: pathClass, Value: v1alpha1.ClassAdopted},
		{Op: "add", Path: pathAllocate, Value: live.Spec.Type == corev1.ServiceTypeNodePort},
	}
}

// adoptFault says why a Service cannot become ours; "" if it can, or is.
func adoptFault(svc *corev1.Service) string {
	switch {
	case svc.Spec.Type == corev1.ServiceTypeExternalName:
		return "it is of type ExternalName and carries no traffic"
	case svc.Spec.ClusterIP == corev1.ClusterIPNone:
		return "it is headless and cannot be a LoadBalancer"
	case svc.Spec.Type == corev1.ServiceTypeLoadBalancer && !isAdopted(&svc.Spec):
		return "it is already type LoadBalancer, and its class can be set only while the type changes"
	}
	return ""
}

// UnadoptPatch takes an adopted Service back to the snapshot's type, with externalIPs and traffic policy in the same
// patch, because the API server drops the policy otherwise; class, health check port and ingress it clears by itself.
// A Service that is not adopted gets no patch.
func UnadoptPatch(live *corev1.Service, s ServiceSnapshot) []PatchOp {
	if !isAdopted(&live.Spec) || isAdopted(&s.Spec) {
		return nil
	}
	back := s.Spec.Type
	if back == "" {
		back = corev1.ServiceTypeClusterIP
	}
	ops := append([]PatchOp{versionOp(live), {Op: "replace", Path: pathType, Value: string(back)}}, fieldOps(live, s)...)
	// Refused on other types; somebody may have added them to the adopted Service.
	if len(live.Spec.LoadBalancerSourceRanges) > 0 && back != corev1.ServiceTypeLoadBalancer {
		ops = append(ops, PatchOp{Op: "remove", Path: pathRanges})
	}
	if back == corev1.ServiceTypeNodePort {
		ops = append(ops, nodePortOps(live, s)...)
	}
	return ops
}

// nodePortOps give each port the number it had, where it has another now.
func nodePortOps(live *corev1.Service, s ServiceSnapshot) []PatchOp {
	var ops []PatchOp
	for i, p := range live.Spec.Ports {
		if was := nodePortOf(s.Spec.Ports, p); was != 0 && was != p.NodePort {
			ops = append(ops, PatchOp{Op: "add", Path: fmt.Sprintf("%s/%d/nodePort", pathPorts, i), Value: was})
		}
	}
	return ops
}

// AdoptStatus is the merge patch for the status subresource of one member: the ingress of the addresses that it holds in
// the plan's ledger rows, and no others. A Service that holds none gets no patch (nil).
func AdoptStatus(live *corev1.Service, p *Plan) json.RawMessage {
	held := p.adoptedAddresses(live)
	if len(held) == 0 {
		return nil
	}
	parts := make([]string, 0, len(held))
	for _, a := range held {
		parts = append(parts, fmt.Sprintf(`{"ip":%q}`, a.String()))
	}
	return json.RawMessage(`{"status":{"loadBalancer":{"ingress":[` + strings.Join(parts, ",") + `]}}}`)
}

// adoptedAddresses are the addresses that the plan's Adopted rows give to svc, sorted.
func (p *Plan) adoptedAddresses(svc *corev1.Service) []netip.Addr {
	var out []netip.Addr
	for _, c := range p.Claims {
		holds := slices.ContainsFunc(c.Holders, func(h addresspool.Holder) bool {
			return h.Namespace == svc.Namespace && h.Name == svc.Name
		})
		if c.Role == addresspool.Adopted && holds {
			out = append(out, c.Address)
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}

func (p *Plan) isMember(svc *corev1.Service) bool {
	return slices.ContainsFunc(p.Members, func(m Member) bool {
		return m.Namespace == svc.Namespace && m.Name == svc.Name && m.UID == string(svc.UID)
	})
}

// Adopted tells how far a member is adopted. Exact: type, class and ingress are as in the plan. Any: the Service is of
// our class, which no Service is that we, or the way back, left alone.
func Adopted(live *corev1.Service, p *Plan) Target {
	name := "Service " + live.Namespace + "/" + live.Name
	switch {
	case !p.isMember(live):
		return Target{Difference: name + " is no member of the plan, or was recreated since"}
	case !isAdopted(&live.Spec):
		return Target{Difference: fmt.Sprintf("%s spec.type is %s, not LoadBalancer of class %s", name, live.Spec.Type, v1alpha1.ClassAdopted)}
	}
	got, want := ingressOf(live), p.adoptedAddresses(live)
	if !slices.Equal(got, want) {
		return Target{Any: true, Difference: fmt.Sprintf("%s status.loadBalancer.ingress is %v, the plan says %v", name, got, want)}
	}
	return Target{Exact: true, Any: true}
}

// ingressOf are the addresses in status, sorted. A host name, or what is no address, makes a zero address: never equal.
func ingressOf(svc *corev1.Service) []netip.Addr {
	var out []netip.Addr
	for _, in := range svc.Status.LoadBalancer.Ingress {
		addr, _, err := addresspool.Canonical(in.IP)
		if err != nil {
			addr = netip.Addr{}
		}
		out = append(out, addr)
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}
