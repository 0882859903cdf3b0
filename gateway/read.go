package gateway

import (
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Reasons of Health.
const (
	// HealthProgrammed: every object is served on the pinned addresses.
	HealthProgrammed = "Programmed"
	// HealthPending: an object or its status is not there yet, or speaks of an older generation.
	HealthPending = "Pending"
	// HealthAddressMismatch: it is served, but not on the pinned addresses.
	HealthAddressMismatch = "AddressMismatch"
	// HealthNotAccepted: the implementation refused an object.
	HealthNotAccepted = "NotAccepted"
	// HealthForeignClass: the generated Service has a loadBalancerClass that MetalLB does not serve.
	HealthForeignClass = "ForeignClass"
	// HealthWritesExternalIPs: the generated Service has externalIPs.
	HealthWritesExternalIPs = "WritesExternalIPs"
)

// verdict is what one look at one object says.
type verdict struct{ reason, message string }

// rank orders reasons: the worst one that was seen is told.
func rank(reason string) int {
	order := []string{
		HealthProgrammed, HealthPending, HealthAddressMismatch, HealthNotAccepted, HealthForeignClass, HealthWritesExternalIPs,
	}
	return slices.Index(order, reason)
}

// reader is one run of Read.
type reader struct {
	live      []*unstructured.Unstructured
	pinned    []netip.Addr
	addresses []netip.Addr
	worst     verdict
	// unknown: some status is not there, so nothing good can be said.
	unknown bool
}

// Read reads the target objects back. live holds every object found under the label plus, for binding Annotation, the
// Service the implementation generated (label gateway.networking.k8s.io/gateway-name) and, for StaticService, that
// Service. What is missing is never healthy.
func Read(want []*unstructured.Unstructured, live []*unstructured.Unstructured, addresses []netip.Addr) Health {
	r := &reader{live: withoutNil(live), pinned: canonical(addresses), worst: verdict{reason: HealthProgrammed}}
	r.worst.message = "every target object is accepted, programmed and served on the pinned addresses"
	wanted := withoutNil(want)
	if len(wanted) == 0 || len(r.pinned) == 0 {
		r.missing("there is no target object, or no pinned address, to read back")
	}
	if !r.unknown {
		for _, w := range wanted {
			r.object(w)
		}
	}
	return Health{
		Programmed: r.worst.reason == HealthProgrammed,
		Known:      !r.unknown || rank(r.worst.reason) > rank(HealthPending),
		Addresses:  canonical(r.addresses),
		Reason:     r.worst.reason,
		Message:    r.worst.message,
	}
}

func (r *reader) say(reason, message string) {
	if rank(reason) > rank(r.worst.reason) {
		r.worst = verdict{reason, message}
	}
}

// missing says that something could not be seen, which is never good.
func (r *reader) missing(message string) {
	r.unknown = true
	r.say(HealthPending, message)
}

func (r *reader) object(want *unstructured.Unstructured) {
	live := find(r.live, want)
	switch {
	case live == nil:
		r.missing(nameOf(want) + " does not exist yet")
	case live.GetDeletionTimestamp() != nil:
		r.missing(nameOf(want) + " metadata.deletionTimestamp: it is being deleted")
	case live.GetKind() == kindGateway:
		r.gateway(want, live)
	case live.GetKind() == kindService:
		r.service(live)
	case strings.HasSuffix(live.GetKind(), "Route"):
		r.route(want, live)
	default:
		r.missing(nameOf(want) + ": nothing is known about how this kind reports its health")
	}
}

// find looks an object up by group, kind, namespace and name. The version may differ: one object is read in many.
func find(in []*unstructured.Unstructured, want *unstructured.Unstructured) *unstructured.Unstructured {
	for _, o := range in {
		if sameObject(o, want) {
			return o
		}
	}
	return nil
}

func sameObject(a, b *unstructured.Unstructured) bool {
	return a.GroupVersionKind().GroupKind() == b.GroupVersionKind().GroupKind() &&
		a.GetNamespace() == b.GetNamespace() && a.GetName() == b.GetName()
}

func nameOf(o *unstructured.Unstructured) string {
	return o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
}

func withoutNil(in []*unstructured.Unstructured) []*unstructured.Unstructured {
	out := make([]*unstructured.Unstructured, 0, len(in))
	for _, o := range in {
		if o != nil && o.Object != nil {
			out = append(out, o)
		}
	}
	return out
}

// canonical sorts addresses, each once, IPv4-mapped ones as IPv4.
func canonical(in []netip.Addr) []netip.Addr {
	out := make([]netip.Addr, 0, len(in))
	for _, a := range in {
		if a.IsValid() {
			out = append(out, a.Unmap())
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}
