// Package gateway turns an entry point into the objects that serve it afterwards, and reads their status back. It is
// pure. What a conversion loses is a note that names the object and the field.
package gateway

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"offramp.dev/api/v1alpha1"
)

// Input is one entry point to convert.
type Input struct {
	// EntryPoint is its name; target objects carry it as a label (Label) and derive their names from it.
	EntryPoint string
	Strategy   v1alpha1.Strategy
	// Services as they were before the walk.
	Services []*corev1.Service
	// Addresses that the target is pinned to, at most one per family. Adopt: the old ones.
	Addresses []netip.Addr
	// Hostnames that the names of the entry point allow. HTTP and TLS listeners are made per hostname.
	Hostnames []string
	// Class, Settings and Profile of the Gateway; unused by other strategies.
	Settings *v1alpha1.GatewaySettings
	Profile  Profile
	// TCPRouteVersion is the served version of TCPRoute, "v1" or "v1alpha2"; "" means that none is served.
	TCPRouteVersion string
}

// Profile is what is known about the implementation behind a GatewayClass. Profiles are data, see Profiles.
type Profile struct {
	ControllerName string                  `json:"controllerName"`
	Binding        v1alpha1.BindingProfile `json:"binding"`
	// Merges: all Gateways of the class share one data plane, so hostnames are required and L4 ports are exclusive.
	Merges bool `json:"merges,omitempty"`
	// Ports that the static Service has, if limited.
	Ports []int32 `json:"ports,omitempty"`
	// WritesExternalIPs: spec.addresses becomes Service.spec.externalIPs; it is never set.
	WritesExternalIPs bool `json:"writesExternalIPs,omitempty"`
	// Routes that the implementation serves: HTTPRoute, TLSRoute, TCPRoute.
	Routes []string `json:"routes,omitempty"`
	// Source says where this was read.
	Source string `json:"source"`
}

// Output is what to apply, what is lost, and what stands in the way.
type Output struct {
	// Objects in the order in which they are applied. For Adopt: none, see package migration.
	Objects []*unstructured.Unstructured
	// Notes of what is lost, each a sentence that names object and field.
	Notes []string
	// Findings that block or ask (no profile, too many listeners, no hostname, L4 port taken).
	Findings []v1alpha1.Finding
}

// To be written by the owner of this package (signatures are the contract):

// Convert makes the target objects. Every object carries label v1alpha1.LabelEntryPoint = Label(EntryPoint), no
// ownerReference and none of the source's external-dns annotations.
func Convert(in Input) Output { panic("contract") }

// Label is the label value for an entry point: the name itself, or a hash where it is longer than 63.
func Label(entryPoint string) string { panic("contract") }

// Profiles are the built-in profiles by controller name.
func Profiles() map[string]Profile { panic("contract") }

// Health is what the target objects say of themselves.
type Health struct {
	// Programmed: every object is accepted and programmed for its current generation.
	Programmed bool
	// Known: false while some status has not been written yet.
	Known bool
	// Addresses that the implementation serves on now.
	Addresses []netip.Addr
	// Reason is a code (Programmed, Pending, NotAccepted, AddressMismatch, WritesExternalIPs), Message one sentence.
	Reason, Message string
}

// Read reads the target objects back. live holds every object found under the label plus, for binding Annotation, the
// Service the implementation generated (label gateway.networking.k8s.io/gateway-name) and, for StaticService, that Service.
func Read(want []*unstructured.Unstructured, live []*unstructured.Unstructured, addresses []netip.Addr) Health {
	panic("contract")
}
