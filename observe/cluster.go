package observe

import (
	"context"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/inventory"
)

// clusterRecheck is how long what is true of the whole cluster is believed: it changes with the cluster, not with a walk.
const clusterRecheck = 5 * time.Minute

// clusterFacts are addresses that no entry point may take.
type clusterFacts struct {
	at           time.Time
	apiServers   []netip.Addr
	serviceCIDRs []*networkingv1.ServiceCIDR
	unseen       []inventory.Unseen
}

// readCluster reads the addresses of the API server and the Service ranges, at most once in clusterRecheck. What cannot be
// read is said to be unseen.
func (l *Looker) readCluster(ctx context.Context, _ client.Reader, w *World) error {
	l.surveying.Lock()
	defer l.surveying.Unlock()
	if now := l.Now(); l.cluster.at.IsZero() || now.Sub(l.cluster.at) > clusterRecheck {
		l.cluster = l.lookAtCluster(ctx, now)
	}
	w.cluster = l.cluster
	w.unseen = append(w.unseen, l.cluster.unseen...)
	return nil
}

func (l *Looker) lookAtCluster(ctx context.Context, now time.Time) clusterFacts {
	out := clusterFacts{at: now}
	var slices discoveryv1.EndpointSliceList
	err := l.Live.List(ctx, &slices, client.InNamespace(corev1.NamespaceDefault), client.MatchingLabels{discoveryv1.LabelServiceName: "kubernetes"})
	if err != nil {
		out.unseen = append(out.unseen, inventory.Unseen{Kind: "API server address", Why: err.Error()})
	} else {
		out.apiServers = endpoints(slices.Items)
	}
	var ranges networkingv1.ServiceCIDRList
	if err := l.Live.List(ctx, &ranges); err != nil {
		out.unseen = append(out.unseen, inventory.Unseen{Kind: "ServiceCIDR", Why: err.Error()})
		return out
	}
	out.serviceCIDRs = []*networkingv1.ServiceCIDR{}
	for i := range ranges.Items {
		out.serviceCIDRs = append(out.serviceCIDRs, &ranges.Items[i])
	}
	return out
}

func endpoints(slices []discoveryv1.EndpointSlice) []netip.Addr {
	out := []netip.Addr{}
	for _, s := range slices {
		for _, e := range s.Endpoints {
			for _, text := range e.Addresses {
				if a, err := netip.ParseAddr(text); err == nil {
					out = append(out, a)
				}
			}
		}
	}
	return out
}
