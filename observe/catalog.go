package observe

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/inventory"
	"offramp.dev/migration"
)

// Catalog is the inventory of the whole cluster, as the cache shows it, and the Services it was taken of. The lists belong
// to the cache: nobody may change them.
func (l *Looker) Catalog(ctx context.Context) (inventory.Catalog, []corev1.Service, error) {
	w := &World{}
	for _, read := range []func(context.Context, client.Reader, *World) error{l.readNodes, l.readPools, l.readCluster} {
		if err := read(ctx, l.Cached, w); err != nil {
			return inventory.Catalog{}, nil, err
		}
	}
	var services corev1.ServiceList
	if err := l.Cached.List(ctx, &services, client.UnsafeDisableDeepCopy); err != nil {
		return inventory.Catalog{}, nil, fmt.Errorf("listing Services: %w", err)
	}
	var policies v1alpha1.MigrationPolicyList
	if err := l.Cached.List(ctx, &policies, client.UnsafeDisableDeepCopy); err != nil {
		return inventory.Catalog{}, nil, fmt.Errorf("listing MigrationPolicies: %w", err)
	}
	c := inventory.Cluster{
		Services: pointers(services.Items), Policies: pointers(policies.Items), Nodes: pointers(w.nodes), Pools: w.pools, Unseen: w.unseen,
	}
	surround(&c, w.cluster)
	return inventory.Take(c), services.Items, nil
}

// Sightings are when somebody was last seen to use an address of the ledger.
type Sightings struct {
	// LastSeen by address, in canonical form. An address that is not in it was not seen in use.
	LastSeen map[string]time.Time
	// Observed tells whether every node's report counts now. Where it is not, an old or absent sighting means nothing.
	Observed bool
	// Asked: the ledger holds an address that could be seen.
	Asked bool
}

// Sightings adds up what all sources report of the addresses in the ledger. Nothing else that a report names is believed:
// the addresses are the platform's own, and as many as it claimed.
func (l *Looker) Sightings(ctx context.Context) (Sightings, error) {
	w := &World{}
	for _, read := range []func(context.Context, client.Reader, *World) error{l.readClaims, l.readNodes} {
		if err := read(ctx, l.Cached, w); err != nil {
			return Sightings{}, err
		}
	}
	in, err := l.reports(ctx, w)
	if err != nil {
		return Sightings{}, err
	}
	return sightings(w, in, l.Now()), nil
}

func sightings(w *World, in migration.TrafficInput, now time.Time) Sightings {
	in.Now = now
	out := Sightings{LastSeen: map[string]time.Time{}}
	claimed := map[netip.Addr]bool{}
	for i := range w.Claims {
		if a, _, err := addresspool.Canonical(w.Claims[i].Spec.Address); err == nil {
			claimed[a] = true
			in.Addresses = append(in.Addresses, a.String())
		}
	}
	for _, t := range migration.Watched(w.Claims) {
		in.Ports = append(in.Ports, fmt.Sprintf("%s/%d", t.Protocol, t.Port))
	}
	slices.Sort(in.Ports)
	in.Ports = slices.Compact(in.Ports)
	out.Asked = len(in.Ports) > 0
	out.Observed = out.Asked && migration.Traffic(in).QuietSince.Known
	for _, o := range in.Observations {
		s := &o.Status
		for _, row := range s.Traffic {
			a, _, err := addresspool.Canonical(row.Address)
			at := lastUse(in.Heartbeats.TrueUntil(s), row)
			if err == nil && claimed[a] && !at.After(now) && at.After(out.LastSeen[a.String()]) {
				out.LastSeen[a.String()] = at
			}
		}
	}
	return out
}

// lastUse is when a row says that somebody used its address: until the report was last true, if connections stand.
func lastUse(reported time.Time, row v1alpha1.TupleTraffic) time.Time {
	switch {
	case row.Established > 0:
		return reported
	case row.LastNew != nil:
		return row.LastNew.Time
	}
	return time.Time{}
}
