// Package gateway turns an entry point into the objects that serve it afterwards, and reads their status back. It is
// pure: the same input gives the same output, byte for byte, and the input is never changed. What a conversion loses is
// a note that names the object and the field; what it cannot do is a finding that names the way out.
//
// It refuses to write Gateway.spec.addresses: two widely used implementations turn it into Service.spec.externalIPs,
// the very field that is to go.
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
	// Settings and Profile of the Gateway; unused by other strategies. See ProfileFor.
	Settings *v1alpha1.GatewaySettings
	Profile  Profile
	// LoadBalancerClass that MetalLB was started with (--lb-class); "" where it serves Services without a class.
	LoadBalancerClass string
	// TCPRouteVersion is the served version of TCPRoute, "v1" or "v1alpha2"; "" means that none is served.
	TCPRouteVersion string
}

// Profile is what is known about the implementation behind a GatewayClass. Profiles are data, see Profiles.
type Profile struct {
	// Implementation is its name for humans.
	Implementation string                  `json:"implementation,omitempty"`
	ControllerName string                  `json:"controllerName"`
	Binding        v1alpha1.BindingProfile `json:"binding"`
	// Merges: all Gateways of the class share one data plane, so hostnames are required and L4 ports are exclusive.
	Merges bool `json:"merges,omitempty"`
	// Ports that the static Service has, if limited.
	Ports []int32 `json:"ports,omitempty"`
	// WritesExternalIPs: spec.addresses becomes Service.spec.externalIPs; it is never set.
	WritesExternalIPs bool `json:"writesExternalIPs,omitempty"`
	// PrefersDualStack: on a dual-stack cluster the generated Service gets both families, and MetalLB then refuses one
	// pinned address.
	PrefersDualStack bool `json:"prefersDualStack,omitempty"`
	// Routes that the implementation serves: HTTPRoute, TLSRoute, TCPRoute. Empty: not known, read back after staging.
	Routes []string `json:"routes,omitempty"`
	// Addresses is what becomes of Gateway.spec.addresses, TrafficPolicy the externalTrafficPolicy of the Service that it serves
	// on, Status where Gateway.status.addresses comes from, Remark what else an admin should know. They are told, not decided on:
	// spec.addresses is never set, and status is read back.
	Addresses     string `json:"addresses,omitempty"`
	TrafficPolicy string `json:"trafficPolicy,omitempty"`
	Status        string `json:"status,omitempty"`
	Remark        string `json:"remark,omitempty"`
	// Source says where this was read.
	Source string `json:"source"`
}

// Output is what to apply, what is lost, and what stands in the way.
type Output struct {
	// Objects in the order in which they are applied. None for Adopt (see package migration), and none where a
	// finding blocks: half a conversion is never applied.
	Objects []*unstructured.Unstructured
	// Notes of what is lost, each a sentence that names object and field.
	Notes []string
	// Findings that block or ask (no profile, too many listeners, no hostname, L4 port taken).
	Findings []v1alpha1.Finding
}

// Health is what the target objects say of themselves.
type Health struct {
	// Programmed: every object is accepted and programmed for its current generation.
	Programmed bool
	// Known: false while some status has not been written yet and nothing definite speaks against the objects.
	Known bool
	// Addresses that the implementation serves on now.
	Addresses []netip.Addr
	// Reason is a code (Programmed, Pending, NotAccepted, AddressMismatch, ForeignClass, WritesExternalIPs), Message one
	// sentence that names the object and the field.
	Reason, Message string
}
