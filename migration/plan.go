package migration

import (
	"encoding/json"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
)

// Plan is the resolved, frozen answer to what will be applied. A human approves its hash.
type Plan struct {
	EntryPoint string            `json:"entryPoint"`
	Policy     string            `json:"policy"`
	Strategy   v1alpha1.Strategy `json:"strategy"`
	Why        string            `json:"why"`
	Members    []Member          `json:"members"`
	// Addresses: the old ones, and the ones the target is pinned to (Adopt: the same).
	OldAddresses []netip.Addr        `json:"oldAddresses"`
	NewAddresses []netip.Addr        `json:"newAddresses"`
	Claims       []addresspool.Claim `json:"claims"`
	Names        []dnsctl.Name       `json:"names,omitempty"`
	// Objects to apply, as JSON manifests in order.
	Objects []json.RawMessage `json:"objects,omitempty"`
	// Checks that prove the paths.
	Checks   []Check  `json:"checks"`
	Settings Settings `json:"settings"`
	// Notes of what is lost.
	Notes []string `json:"notes,omitempty"`
}

// Member is one Service of the plan.
type Member struct {
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	UID       string   `json:"uid"`
	Ports     []string `json:"ports"`
	// Spec is the SHA-256 of what we rely on: selector, ports, policies, type and the field.
	Spec string `json:"spec"`
}

// Check is one probe of the new and of the old path. New and Old are addresses of the same family.
type Check struct {
	Old  netip.Addr `json:"old"`
	New  netip.Addr `json:"new"`
	Port int32      `json:"port"`
	Kind string     `json:"kind"`
	Host string     `json:"host,omitempty"`
	Path string     `json:"path,omitempty"`
	// Service that a gRPC check asks for, Payload and Expect (base64) of a UDP one, and Hold of a held one, in seconds.
	Service string `json:"service,omitempty"`
	Payload string `json:"payload,omitempty"`
	Expect  string `json:"expect,omitempty"`
	Hold    int64  `json:"hold,omitempty"`
}

// Settings are the policy's numbers with the defaults filled in, in seconds.
type Settings struct {
	LowTTL        int64               `json:"lowTTL"`
	Percents      []int32             `json:"percents"`
	StepSoak      int64               `json:"stepSoak"`
	Soak          int64               `json:"soak"`
	DrainWindow   int64               `json:"drainWindow"`
	MaxLifetime   int64               `json:"maxLifetime,omitempty"`
	Attraction    v1alpha1.Attraction `json:"attraction"`
	Rounds        int32               `json:"rounds"`
	ProbeInterval int64               `json:"probeInterval"`
	ProbeTimeout  int64               `json:"probeTimeout"`
	Vantages      []v1alpha1.Vantage  `json:"vantages"`
	// FailureLimit and InconclusiveLimit bound what a path may miss; 0 means nothing. MustMatch empty: the default.
	FailureLimit      int32                  `json:"failureLimit,omitempty"`
	InconclusiveLimit int32                  `json:"inconclusiveLimit,omitempty"`
	Headers           []string               `json:"headers,omitempty"`
	MustMatch         []v1alpha1.ProbeAspect `json:"mustMatch,omitempty"`
	LatencyPercent    int32                  `json:"latencyPercent,omitempty"`
	Recheck           int64                  `json:"recheck"`
	OnFailure         v1alpha1.OnFailure     `json:"onFailure"`
	GatewayClass      string                 `json:"gatewayClass,omitempty"`
	GatewayController string                 `json:"gatewayController,omitempty"`
}

// Snapshot is what Back restores: the members as they were, and the record sets.
type Snapshot struct {
	Services []ServiceSnapshot `json:"services"`
	Names    []dnsctl.Name     `json:"names,omitempty"`
	TakenAt  time.Time         `json:"takenAt"`
	// Attraction says who brought the packets for each old address at that time.
	Attraction []Attracted `json:"attraction,omitempty"`
}

// Attracted says who brings the packets for one address to a node.
type Attracted struct {
	Address string              `json:"address"`
	By      v1alpha1.Attraction `json:"by"`
	Why     string              `json:"why,omitempty"`
}

// ServiceSnapshot is one Service as it was. Spec is complete, so that nothing that a later version needs is lost.
type ServiceSnapshot struct {
	Namespace   string             `json:"namespace"`
	Name        string             `json:"name"`
	UID         string             `json:"uid"`
	Annotations map[string]string  `json:"annotations,omitempty"`
	Labels      map[string]string  `json:"labels,omitempty"`
	Spec        corev1.ServiceSpec `json:"spec"`
}
