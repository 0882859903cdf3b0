package observe

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/addresspool"
	"offramp.dev/addresspool/metallb"
	"offramp.dev/inventory"
)

// Pools are the pools that MetalLB has; none where its kinds are not served.
func Pools(ctx context.Context, r client.Reader) ([]addresspool.Pool, error) {
	pools, served, err := metallb.List(ctx, r)
	if err != nil || !served {
		return nil, err
	}
	return pools, nil
}

// HasPool tells whether one of the pools has the name.
func HasPool(pools []addresspool.Pool, name string) bool {
	return slices.ContainsFunc(pools, func(p addresspool.Pool) bool { return p.Name == name })
}

// readPools reads the pools. A failed look leaves them out, says so, and a plan that needs one is not made.
func (l *Looker) readPools(ctx context.Context, _ client.Reader, w *World) error {
	pools, err := Pools(ctx, l.Cached)
	if err == nil {
		w.pools = append([]addresspool.Pool{}, pools...)
	} else {
		w.unseen = append(w.unseen, inventory.Unseen{Kind: "IPAddressPool", Why: err.Error()})
	}
	return nil
}
