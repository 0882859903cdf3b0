// Package observe looks and never changes: it turns the cluster, the name servers, probes and observations into
// migration.Facts. A look that fails is Unknown in the facts; an error is returned only where an object of the API that
// the decision rests on could not be read.
package observe

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/dnsctl"
	"offramp.dev/probe"
)

// Ports are the ways to look at the world.
type Ports struct {
	// Cached serves ordinary passes; Live reads past every cache, before an action.
	Cached, Live client.Reader
	// Guard asks the API server, by a dry run, whether a claimed address is denied to others.
	Guard client.Client
	DNS   dnsctl.Port
	Probe probe.Port
	// ProbesAtOnce is how many checks of one round run side by side; less than 2 is one after the other, in order. With more
	// than that Probe is called by several goroutines.
	ProbesAtOnce int
	// Namespace of the controller: guard parameters and key Secrets.
	Namespace string
	// AgentNamespace holds the Leases of the node agents; "" where they keep none.
	AgentNamespace string
	// Serves tells whether the API server serves a kind; nil means none of the optional ones.
	Serves func(schema.GroupVersionKind) bool
	// Now is the clock.
	Now func() time.Time
}

func (p Ports) serves(gvk schema.GroupVersionKind) bool { return p.Serves != nil && p.Serves(gvk) }
