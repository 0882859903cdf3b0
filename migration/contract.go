package migration

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
	"offramp.dev/gateway"
)

// PlanInput is what a plan is made from.
type PlanInput struct {
	EntryPoint *v1alpha1.EntryPoint
	Policy     *v1alpha1.MigrationPolicy
	// Services are the members as they were before the walk (see Before).
	Services []*corev1.Service
	// Strategy and Why as the inventory chose or the human asked.
	Strategy v1alpha1.Strategy
	Why      string
	// Names that point at an old address now (before the walk: live; later: the snapshot's), without New and LowTTL.
	Names []dnsctl.Name
	Pools []addresspool.Pool
	// Ledger and uses; rows and uses of this entry point itself are ignored as conflicts.
	Ledger []addresspool.Claim
	Uses   []addresspool.Use
	// Profile and ControllerName of the policy's GatewayClass.
	Profile         gateway.Profile
	TCPRouteVersion string
	// Frozen is the youngest recorded plan, if any: its addresses are kept.
	Frozen *Plan
}

// MakePlan makes the plan, or says in findings (Block or Ask) why it cannot.
func MakePlan(in PlanInput) (*Plan, []v1alpha1.Finding) { panic("contract") }

// SettingsFrom fills the defaults in.
func SettingsFrom(p *v1alpha1.MigrationPolicy) Settings { panic("contract") }

// Objects decodes the plan's manifests.
func (p *Plan) Targets() ([]*unstructured.Unstructured, error) { panic("contract") }

// TrafficReport is what one source saw, for the verdict.
type TrafficInput struct {
	Now          time.Time
	Nodes        []string // every node that could receive the address
	Observations []*v1alpha1.Observation
	Addresses    []string // canonical
	Ports        []string // TCP/80
	Watched      string   // hash of the watched set that the agents should have
	Settings     Settings
	ProxyGoes    bool
}

// Traffic is the drain verdict: who uses a path, or why that cannot be told. A node without a fresh, gapless report of
// the needed signals makes it unknown.
func Traffic(in TrafficInput) Use { panic("contract") }

// WatchedHash is the SHA-256 of the sorted tuples "address|port|protocol" that agents watch: all ports of all claims.
func WatchedHash(claims []v1alpha1.AddressClaim) string { panic("contract") }
