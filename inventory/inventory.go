// Package inventory says what depends on Service.spec.externalIPs, what to do about each, and why. It is pure: objects
// in, entry points and findings out, in a stable order. It never changes its input.
package inventory

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
)

// Cluster is everything the inventory looks at. A nil list means "not looked at", which is never "none": the findings
// that would need it are left out, and Unseen says what could not be seen.
type Cluster struct {
	Services       []*corev1.Service
	Nodes          []*corev1.Node
	EndpointSlices []*discoveryv1.EndpointSlice
	ServiceCIDRs   []*networkingv1.ServiceCIDR
	Gateways       []*gatewayv1.Gateway
	GatewayClasses []*gatewayv1.GatewayClass
	Policies       []*v1alpha1.MigrationPolicy
	Pools          []addresspool.Pool
	// APIServers are addresses of the API server (Endpoints of default/kubernetes, kubeconfig), NameServers of cluster DNS.
	APIServers, NameServers []netip.Addr
	// ProxyMode of kube-proxy, if known.
	ProxyMode v1alpha1.ProxyMode
	// Names maps a live DNS name to the addresses it answers; nil: DNS was not looked at (candidates come from annotations).
	Names map[string][]netip.Addr
	// Unseen lists kinds that could not be read, with the reason.
	Unseen []Unseen
}

// Unseen is a kind that could not be read.
type Unseen struct{ Kind, Why string }

// EntryPoint is one unit that moves, as the inventory sees it.
type EntryPoint struct {
	// Name is <ns>-<svc>-<hash8 of members>, see Name.
	Name string `json:"name"`
	// Addresses in canonical form, sorted; a value that is no address stands as written.
	Addresses []string `json:"addresses"`
	// Services as "ns/name", sorted.
	Services []string `json:"services"`
	// Ports as "TCP/80", sorted by protocol and number.
	Ports []string `json:"ports"`
	// Names are candidate DNS names (annotations) or, where DNS was looked at, the live ones.
	Names []string `json:"names,omitempty"`
	// Policy that the members opted into, or "".
	Policy string `json:"policy,omitempty"`
	// Strategy, recommended even where the verdict is Blocked.
	Strategy v1alpha1.Strategy `json:"strategy"`
	// Why says, in one sentence, why this strategy was chosen.
	Why string `json:"why"`
	// Verdict sums up the findings.
	Verdict  Verdict            `json:"verdict"`
	Findings []v1alpha1.Finding `json:"findings"`
}

// Verdict of an entry point.
type Verdict string

// The verdicts.
const (
	Ready   Verdict = "Ready"
	Ask     Verdict = "Ask"
	Blocked Verdict = "Blocked"
	CleanUp Verdict = "CleanUp"
)

// Catalog is the result.
type Catalog struct {
	EntryPoints []EntryPoint `json:"entryPoints"`
	// Findings that belong to no entry point.
	Findings []v1alpha1.Finding `json:"findings,omitempty"`
	Summary  Summary            `json:"summary"`
}

// Summary counts.
type Summary struct {
	Services        int `json:"services"`
	WithExternalIPs int `json:"withExternalIPs"`
	EntryPoints     int `json:"entryPoints"`
}

// To be written by the owner of this package (signatures are the contract):

// Take takes the inventory of a cluster.
func Take(c Cluster) Catalog { panic("contract") }

// Name is the name of an entry point with these members ("ns/name"): <ns>-<svc>-<hash8>, at most 253 characters, of the
// first member in order.
func Name(members []string) string { panic("contract") }

// PortKind is how a Service port would be served by a Gateway.
type PortKind string

// The port kinds.
const (
	PortHTTP PortKind = "HTTP"
	PortTLS  PortKind = "TLS"
	PortTCP  PortKind = "TCP"
	PortUDP  PortKind = "UDP"
	PortSCTP PortKind = "SCTP"
)

// KindOf classifies one port by appProtocol and by what the policy lists (httpPorts); a port's name alone never makes HTTP.
func KindOf(p corev1.ServicePort, httpPorts []int32) PortKind { panic("contract") }
