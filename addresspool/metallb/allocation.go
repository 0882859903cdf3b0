package metallb

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"go.universe.tf/metallb/api/v1beta1"
	corev1 "k8s.io/api/core/v1"

	"offramp.dev/addresspool"
)

// The annotations that MetalLB reads and writes.
const (
	// AnnotationAddresses asks for addresses, comma separated. It may not stand beside spec.loadBalancerIP.
	AnnotationAddresses = addresspool.PinAnnotation
	// AnnotationSharing is the key under which Services share an address.
	AnnotationSharing = "metallb.io/allow-shared-ip"
	// AnnotationPool is what MetalLB says it took the address from.
	AnnotationPool = "metallb.io/ip-allocated-from-pool"
	// The labels of ServiceL2Status that name the Service.
	labelServiceName, labelServiceNamespace = "metallb.io/service-name", "metallb.io/service-namespace"
)

// Pin is the value of AnnotationAddresses for addresses: sorted, comma separated, at most one of each family, which is all
// that MetalLB gives one Service.
func Pin(addresses []netip.Addr) (string, error) {
	sorted := slices.Clone(addresses)
	for i, a := range sorted {
		if !a.IsValid() || a.Zone() != "" {
			return "", fmt.Errorf("cannot pin %q: it is no address without a zone", a)
		}
		sorted[i] = a.Unmap()
	}
	slices.SortFunc(sorted, netip.Addr.Compare)
	sorted = slices.Compact(sorted)
	if len(sorted) == 0 || len(sorted) > 2 || len(sorted) == 2 && sorted[0].Is4() == sorted[1].Is4() {
		return "", fmt.Errorf("cannot pin %d addresses %v: MetalLB gives a Service one address of each family", len(sorted), sorted)
	}
	var texts []string
	for _, a := range sorted {
		texts = append(texts, a.String())
	}
	return strings.Join(texts, ","), nil
}

// State of an allocation.
type State string

// The states of an allocation.
const (
	// Allocated: the Service carries exactly the pinned addresses.
	Allocated State = "Allocated"
	// Pending: MetalLB has assigned nothing yet.
	Pending State = "Pending"
	// Different: the Service carries other addresses than the pinned ones.
	Different State = "AddressMismatch"
	// Ignored: MetalLB does not look at this Service, or cannot as it stands.
	Ignored State = "Ignored"
)

// Allocation is what became of a pin.
type Allocation struct {
	State     State
	Addresses []netip.Addr
	// Pool as MetalLB says, or "".
	Pool string
	// Announcing are the nodes that announce it (layer 2), sorted; Known is false where nobody looked.
	Announcing []string
	Known      bool
	// Message is one sentence that names the Service and, where something is wrong, the way out.
	Message string
}

// Read reads what MetalLB did with a Service that was pinned to addresses. class is MetalLB's own --lb-class, or "". l2 are
// the ServiceL2Status objects; nil means that nobody looked. An empty list says that nobody announces in layer 2, which is
// right for BGP.
func Read(svc *corev1.Service, addresses []netip.Addr, class string, l2 []*v1beta1.ServiceL2Status) Allocation {
	out := Allocation{Addresses: ingress(svc), Pool: svc.Annotations[AnnotationPool], Known: l2 != nil}
	out.Announcing = announcing(svc, l2)
	object := "Service " + svc.Namespace + "/" + svc.Name
	switch problem := ignored(svc, class); {
	case problem != "":
		out.State, out.Message = Ignored, object+" "+problem+"."
	case len(out.Addresses) == 0:
		out.State, out.Message = Pending, object+" has no address yet; see its Events for what MetalLB says."
	case !slices.Equal(out.Addresses, canonical(addresses)):
		out.State, out.Message = Different, fmt.Sprintf("%s carries %v instead of %v; make a second Service rather than change the pin of a "+
			"live one.",
			object, out.Addresses, canonical(addresses))
	default:
		out.State, out.Message = Allocated, fmt.Sprintf("%s carries %v as pinned.", object, out.Addresses)
	}
	return out
}

// ignored says why MetalLB will not serve the Service, or "".
func ignored(svc *corev1.Service, class string) string {
	got := ""
	if svc.Spec.LoadBalancerClass != nil {
		got = *svc.Spec.LoadBalancerClass
	}
	switch {
	case svc.Spec.Type != corev1.ServiceTypeLoadBalancer:
		return "is not of type LoadBalancer, so MetalLB does not serve it"
	case got != class:
		return fmt.Sprintf("has loadBalancerClass %q, but MetalLB serves %q only; make a new Service with that class", got, class)
	case svc.Spec.LoadBalancerIP != "" && svc.Annotations[AnnotationAddresses] != "":
		return "has both spec.loadBalancerIP and annotation " + AnnotationAddresses + ", which MetalLB refuses; remove spec.loadBalancerIP"
	}
	return ""
}

func ingress(svc *corev1.Service) []netip.Addr {
	var out []netip.Addr
	for _, in := range svc.Status.LoadBalancer.Ingress {
		if a, _, err := addresspool.Canonical(in.IP); err == nil {
			out = append(out, a)
		}
	}
	return canonical(out)
}

// canonical is sorted, without repetition and IPv4-mapped forms.
func canonical(addresses []netip.Addr) []netip.Addr {
	out := make([]netip.Addr, 0, len(addresses))
	for _, a := range addresses {
		out = append(out, a.Unmap())
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}

// announcing are the nodes that say they announce the Service. Their objects name it by label; status repeats it.
func announcing(svc *corev1.Service, l2 []*v1beta1.ServiceL2Status) []string {
	var out []string
	for _, s := range l2 {
		if s == nil || s.Status.Node == "" {
			continue
		}
		if s.Labels[labelServiceName] == svc.Name && s.Labels[labelServiceNamespace] == svc.Namespace {
			out = append(out, s.Status.Node)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
