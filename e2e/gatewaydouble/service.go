package gatewaydouble

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// serviceName is <gateway>-double, or a prefix and a hash where that is no legal name of a Service.
func serviceName(gateway string) string {
	const suffix = "-double"
	if name := gateway + suffix; len(validation.IsDNS1035Label(name)) == 0 {
		return name
	}
	sum := sha256.Sum256([]byte(gateway))
	return "gateway-" + hex.EncodeToString(sum[:8]) + suffix
}

// allocation remembers which target ports are taken.
type allocation struct {
	ports PortRange
	taken map[uint16]bool
}

// allocate gives every listener port of the Gateways that have a Service a target port of its own. The Services are the
// memory: what one has already, it keeps.
func (v *view) allocate() (map[*served]map[int32]uint16, error) {
	a := allocation{ports: v.settings.Ports, taken: map[uint16]bool{}}
	out := map[*served]map[int32]uint16{}
	for _, g := range v.gateways {
		out[g] = a.remembered(g)
	}
	for _, g := range v.gateways {
		for _, port := range g.ports() {
			if _, has := out[g][port]; has || !g.provisioned() {
				continue
			}
			free, err := a.free(g, port)
			if err != nil {
				return nil, err
			}
			out[g][port] = free
		}
	}
	return out, nil
}

func (a allocation) remembered(g *served) map[int32]uint16 {
	out := map[int32]uint16{}
	for _, port := range g.ports() {
		if target, ok := a.ports.at(int64(g.targetPort(port))); ok && !a.taken[target] {
			a.taken[target], out[port] = true, target
		}
	}
	return out
}

// free begins at a place that depends on the Gateway and port only, and takes the first port from there on.
func (a allocation) free(g *served, port int32) (uint16, error) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s:%d", g.Namespace, g.Name, port))
	count := uint32(a.ports.Last) - uint32(a.ports.First) + 1
	start := binary.BigEndian.Uint32(sum[:4]) % count
	for i := range count {
		target, _ := a.ports.at(int64(a.ports.First) + int64((start+i)%count))
		if !a.taken[target] {
			a.taken[target] = true
			return target, nil
		}
	}
	return 0, fmt.Errorf("spec.listeners of Gateway %s/%s: all ports from %d to %d are taken: give --ports a wider range", g.Namespace, g.Name, a.ports.First, a.ports.Last)
}

// provisioned tells whether the Gateway is to have a Service.
func (g *served) provisioned() bool { return g.refused.good() && g.mode != NoAddress }

// ports are those of the valid listeners, each once, in order.
func (g *served) ports() []int32 {
	out := []int32{}
	for _, l := range g.listeners {
		if l.valid() {
			out = append(out, l.spec.Port)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// serviceFor is the Service as the double applies it: what it does not name stays as it is, such as node ports.
func (v *view) serviceFor(g *served, targets map[int32]uint16) *corev1ac.ServiceApplyConfiguration {
	spec := corev1ac.ServiceSpec().
		WithType(corev1.ServiceTypeLoadBalancer).
		WithExternalTrafficPolicy(corev1.ServiceExternalTrafficPolicyCluster).
		WithSelector(v.settings.Selector)
	for _, port := range g.ports() {
		spec.WithPorts(corev1ac.ServicePort().
			WithName(fmt.Sprintf("port-%d", port)).WithPort(port).WithProtocol(corev1.ProtocolTCP).
			WithTargetPort(intstr.FromInt32(int32(targets[port]))))
	}
	families(spec, g.pinned())
	misbehave(spec, g)
	return corev1ac.Service(serviceName(g.Name), g.Namespace).
		WithLabels(infrastructureLabels(g)).WithLabels(ownLabels(g)).WithAnnotations(infrastructureAnnotations(g)).
		WithOwnerReferences(metav1ac.OwnerReference().
			WithAPIVersion(gatewayv1.GroupVersion.String()).WithKind(kindGateway).WithName(g.Name).WithUID(g.UID).
			WithController(true).WithBlockOwnerDeletion(true)).
		WithSpec(spec)
}

func ownLabels(g *served) map[string]string {
	out := map[string]string{labelManagedBy: fieldOwner, labelGatewayClass: string(g.Spec.GatewayClassName)}
	if len(validation.IsValidLabelValue(g.Name)) == 0 {
		out[labelGateway] = g.Name
	}
	return out
}

func infrastructureLabels(g *served) map[string]string {
	out := map[string]string{}
	if g.Spec.Infrastructure != nil {
		for key, value := range g.Spec.Infrastructure.Labels {
			out[string(key)] = string(value)
		}
	}
	return out
}

func infrastructureAnnotations(g *served) map[string]string {
	out := map[string]string{}
	if g.Spec.Infrastructure != nil {
		for key, value := range g.Spec.Infrastructure.Annotations {
			out[string(key)] = string(value)
		}
	}
	return out
}

// pinned are the addresses that the annotation asks MetalLB for.
func (g *served) pinned() []netip.Addr {
	return addresses(strings.Split(infrastructureAnnotations(g)[annotationAddresses], ","))
}

// addresses leaves out what is none: MetalLB says so of its annotation, and the API server of spec.addresses.
func addresses(texts []string) []netip.Addr {
	out := []netip.Addr{}
	for _, text := range texts {
		if a, err := netip.ParseAddr(strings.TrimSpace(text)); err == nil {
			out = append(out, a.Unmap())
		}
	}
	return out
}

// families makes the Service of the families of the pinned addresses: MetalLB refuses addresses that do not match.
func families(spec *corev1ac.ServiceSpecApplyConfiguration, pinned []netip.Addr) {
	list := []corev1.IPFamily{}
	for _, a := range pinned {
		list = append(list, familyOf(a))
	}
	slices.SortFunc(list, cmp.Compare)
	list = slices.Compact(list)
	switch len(list) {
	case 0:
	case 1:
		spec.WithIPFamilyPolicy(corev1.IPFamilyPolicySingleStack).WithIPFamilies(list...)
	default:
		spec.WithIPFamilyPolicy(corev1.IPFamilyPolicyRequireDualStack).WithIPFamilies(list...)
	}
}

func familyOf(a netip.Addr) corev1.IPFamily {
	if a.Is4() {
		return corev1.IPv4Protocol
	}
	return corev1.IPv6Protocol
}

// misbehave is what released implementations did to their Services: see Mode.
func misbehave(spec *corev1ac.ServiceSpecApplyConfiguration, g *served) {
	switch g.mode {
	case ExternalIPs:
		for _, a := range g.claimed() {
			spec.WithExternalIPs(a.String())
		}
	case ForeignClass:
		spec.WithLoadBalancerClass(foreignClass)
	case Behave, NoAddress:
	}
}

// claimed are the addresses of spec.addresses or, lacking those, of the annotation.
func (g *served) claimed() []netip.Addr {
	if asked := g.asked(); len(asked) > 0 {
		return asked
	}
	return g.pinned()
}

// asked are the addresses of spec.addresses. An entry without a value asks for any address.
func (g *served) asked() []netip.Addr {
	texts := []string{}
	for _, a := range g.Spec.Addresses {
		texts = append(texts, a.Value)
	}
	return addresses(texts)
}
