package migration

import (
	"encoding/json"
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

// TakeSnapshot copies what Back restores.
func TakeSnapshot(services []*corev1.Service, names []dnsctl.Name, now time.Time) *Snapshot { panic("contract") }

// Before is svc as it was: the snapshot's touched fields laid over the live object, for planning during a walk.
func Before(svc *corev1.Service, s *Snapshot) *corev1.Service { panic("contract") }

// EncodeDocument is canonical JSON with its SHA-256; DecodeDocument is the strict inverse and verifies the hash.
func EncodeDocument(v any) (v1alpha1.Document, error) { panic("contract") }

// DecodeDocument verifies the hash and decodes into v; unknown fields are an error.
func DecodeDocument(d v1alpha1.Document, v any) error { panic("contract") }

// PatchOp is one JSON Patch operation (RFC 6902).
type PatchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// ReleasePatch removes the field and writes our mark, with tests on resourceVersion (replace) and the exact old list.
func ReleasePatch(live *corev1.Service, record string, attempt int64) []PatchOp { panic("contract") }

// RestorePatch puts externalIPs and what depends on it back, canonical spelling, and removes our mark.
func RestorePatch(live *corev1.Service, s ServiceSnapshot) []PatchOp { panic("contract") }

// AdoptPatch makes the Service type LoadBalancer of our class; AdoptStatus is the ingress to write then (merge patch of status).
func AdoptPatch(live *corev1.Service, p *Plan) []PatchOp { panic("contract") }

// AdoptStatus is the merge patch for the status subresource.
func AdoptStatus(p *Plan) json.RawMessage { panic("contract") }

// UnadoptPatch takes the Service back to the snapshot's type, with externalIPs and policies in the same patch.
func UnadoptPatch(live *corev1.Service, s ServiceSnapshot) []PatchOp { panic("contract") }

// Adopted tells how far a member is adopted: exact (class, type, ingress as in the plan), any of it, and the difference.
func Adopted(live *corev1.Service, p *Plan) Target { panic("contract") }

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
