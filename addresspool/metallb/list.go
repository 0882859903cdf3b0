// Package metallb turns MetalLB's objects into pools and allocations, and writes down what MetalLB is asked for. It is the
// only package that knows MetalLB's types. In a cluster it only reads them: pools and advertisements are the admin's.
package metallb

import (
	"context"
	"fmt"

	metallbv1beta1 "go.universe.tf/metallb/api/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/addresspool"
)

// AddToScheme registers MetalLB's kinds.
var AddToScheme = metallbv1beta1.AddToScheme

// List reads every pool and what announces it. served is false where the API server does not serve MetalLB's kinds.
func List(ctx context.Context, r client.Reader) (pools []addresspool.Pool, served bool, err error) {
	var (
		p   metallbv1beta1.IPAddressPoolList
		l2  metallbv1beta1.L2AdvertisementList
		bgp metallbv1beta1.BGPAdvertisementList
	)
	for _, list := range []client.ObjectList{&p, &l2, &bgp} {
		if err := r.List(ctx, list); meta.IsNoMatchError(err) {
			return nil, false, nil
		} else if err != nil {
			return nil, true, fmt.Errorf("listing MetalLB objects: %w", err)
		}
	}
	return Pools(p.Items, l2.Items, bgp.Items), true, nil
}
