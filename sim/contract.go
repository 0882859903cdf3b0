// Package sim is the embedded world: the controllers' Reconcile called synchronously over an in-memory API, in-process
// zones, resolvers, clients, an emulated Gateway implementation, load balancer and node agents, and a clock that jumps.
// What is emulated is called so: it shows that the walk is right, not that a cluster's parts are.
package sim

import (
	"io"

	"k8s.io/apimachinery/pkg/runtime"

	"offramp.dev/api/v1alpha1"
)

// Options of a rehearsal.
type Options struct {
	// Objects are the manifests: Services, and optionally Nodes, MigrationPolicies, DNSZones, GatewayClasses, pools.
	// What a walk needs and the manifests lack (a policy, a pool, a zone, nodes) is made up and said in Report.Assumed.
	Objects []runtime.Object
	// RollbackAt turns the walk back once this gate is met; "" never. Entry points whose member carries the annotation
	// "rehearse.offramp.dev/rollback-at" turn back there.
	RollbackAt string
	// Fault injects one, see Faults; "" none.
	Fault string
	// Seed of everything random.
	Seed int64
	// Progress gets one line for each change of a gate, if set.
	Progress io.Writer
}

// Report is the result of a rehearsal (kind RehearsalReport).
type Report struct {
	APIVersion  string             `json:"apiVersion"`
	Kind        string             `json:"kind"`
	Assumed     []string           `json:"assumed,omitempty"`
	EntryPoints []EntryPointReport `json:"entryPoints"`
	Requests    Requests           `json:"requests"`
}

// EntryPointReport is one walk.
type EntryPointReport struct {
	Name     string            `json:"name"`
	Strategy v1alpha1.Strategy `json:"strategy"`
	// Outcome: Released, Undone, Held, Blocked or CleanUp. Why says what it stands at.
	Outcome  string       `json:"outcome"`
	Why      string       `json:"why,omitempty"`
	Gates    []GateReport `json:"gates"`
	Requests Requests     `json:"requests"`
	Writes   Writes       `json:"writes"`
}

// GateReport is the last word of one gate, and when it was first met.
type GateReport struct {
	Name    string `json:"name"`
	Verdict string `json:"verdict"`
	Reason  string `json:"reason,omitempty"`
	At      string `json:"at,omitempty"`
}

// Requests counts what the clients sent and lost (one connect attempt, no retry).
type Requests struct {
	Sent int64 `json:"sent"`
	Lost int64 `json:"lost"`
}

// Writes counts what the controller wrote.
type Writes struct {
	API int64 `json:"api"`
	DNS int64 `json:"dns"`
}

// Fault is one that can be injected.
type Fault struct{ Name, Meaning string }
