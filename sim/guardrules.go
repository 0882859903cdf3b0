package sim

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/guard"
)

// guardService emulates the policies of package guard, as far as the walk meets them: nobody but a holder may put a
// claimed address into externalIPs, whoever asks; and only the controller may touch what carries our class or label.
func (s *Server) guardService(old, svc *corev1.Service) error {
	if !s.Deny || s.user == UserCluster {
		return nil
	}
	for _, text := range svc.Spec.ExternalIPs {
		if old != nil && slices.Contains(old.Spec.ExternalIPs, text) && samePorts(old, svc) {
			continue
		}
		if message := s.claimedByOthers(text, svc); message != "" {
			return denied(svc, guard.PolicyClaimed, message)
		}
	}
	if s.user == UserController {
		return nil
	}
	return guardAdopted(old, svc)
}

func samePorts(a, b *corev1.Service) bool { return slices.Equal(portsOf(a), portsOf(b)) }

func portsOf(svc *corev1.Service) []string {
	out := make([]string, 0, len(svc.Spec.Ports))
	for _, p := range svc.Spec.Ports {
		out = append(out, portText(p))
	}
	slices.Sort(out)
	return out
}

// claimedByOthers is the message of a refusal, or "". Like the policy it reads its parameters, not the ledger: without
// them it is switched off.
func (s *Server) claimedByOthers(text string, svc *corev1.Service) string {
	addr, _, err := addresspool.Canonical(text)
	if err != nil {
		return ""
	}
	params, ok := s.store.cache.objects[configMapKind][paramsKey].(*corev1.ConfigMap)
	if !ok {
		return ""
	}
	words, claimed := params.Data[addresspool.ClaimName(addr)]
	if !claimed {
		return ""
	}
	holders := strings.Fields(words)
	if !slices.Contains(holders, svc.Namespace+"/"+svc.Name) && !slices.Contains(holders, svc.Namespace+"/*") {
		return "spec.externalIPs: " + text + " is claimed; it may be carried by: " + words
	}
	return newPorts(s.heldPorts(addr), svc, text)
}

// heldPorts are the ports of the claim's holders.
func (s *Server) heldPorts(addr netip.Addr) []string {
	claim, ok := s.store.cache.objects[claimKind][nameKey(addresspool.ClaimName(addr))].(*v1alpha1.AddressClaim)
	if !ok {
		return nil
	}
	var out []string
	for _, h := range claim.Spec.Holders {
		out = append(out, h.Ports...)
	}
	return out
}

func newPorts(held []string, svc *corev1.Service, text string) string {
	var added []string
	for _, p := range portsOf(svc) {
		if len(held) > 0 && !slices.Contains(held, p) {
			added = append(added, p)
		}
	}
	if len(added) == 0 {
		return ""
	}
	return "spec.ports: new port(s) " + strings.Join(added, ", ") + " on claimed address " + text
}

// guardAdopted keeps others from our class: neither into it, nor out of it, nor new ports on it.
func guardAdopted(old, svc *corev1.Service) error {
	is := ours(svc)
	was := old != nil && ours(old)
	if is == was && (!is || samePorts(old, svc)) {
		return nil
	}
	return denied(svc, policyAdopted, "class "+v1alpha1.ClassAdopted+" may only be set, left or given ports by Offramp")
}

func ours(svc *corev1.Service) bool {
	return svc.Spec.LoadBalancerClass != nil && *svc.Spec.LoadBalancerClass == v1alpha1.ClassAdopted
}

var (
	claimKind     = schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: "AddressClaim"}
	configMapKind = schema.GroupKind{Kind: "ConfigMap"}
	paramsKey     = types.NamespacedName{Namespace: Namespace, Name: guard.ConfigMapName}
)

// policyAdopted is the emulation's name for the policy over adopted Services.
const policyAdopted = "adopted-services.offramp.dev"
