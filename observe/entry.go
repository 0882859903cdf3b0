package observe

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/inventory"
)

// entry is the inventory's word on the members, among the Services that share an address or a name with them.
func (l *Looker) entry(ctx context.Context, w *World, members []*corev1.Service, live map[string][]netip.Addr) inventory.EntryPoint {
	c := inventory.Cluster{
		Services: sharing(w, members), Policies: []*v1alpha1.MigrationPolicy{w.Policy}, Pools: w.pools,
		Nodes: pointers(w.nodes), Names: live, Zones: []*v1alpha1.DNSZone{}, Unseen: slices.Clone(w.unseen),
	}
	surround(&c, w.cluster)
	for _, name := range w.Policy.Spec.Zones {
		if z := w.Zones[name]; z != nil {
			c.Zones = append(c.Zones, z)
		}
	}
	var err error
	if c.EndpointSlices, err = l.endpointSlices(ctx, c.Services); err != nil {
		c.Unseen = append(c.Unseen, inventory.Unseen{Kind: "EndpointSlice", Why: err.Error()})
	}
	if c.Gateways, err = l.gateways(ctx, w.Policy.Spec.Gateway); err != nil {
		c.Unseen = append(c.Unseen, inventory.Unseen{Kind: "Gateway", Why: err.Error()})
	}
	want := members[0].Namespace + "/" + members[0].Name
	for _, e := range inventory.Take(c).EntryPoints {
		if slices.Contains(e.Services, want) {
			return e
		}
	}
	return inventory.EntryPoint{Name: w.EntryPoint.Name, Strategy: v1alpha1.StrategyNone, Why: "no member carries the field", Verdict: inventory.CleanUp}
}

// surround adds what is true of the whole cluster.
func surround(c *inventory.Cluster, of clusterFacts) {
	c.APIServers, c.ServiceCIDRs, c.ConfigMaps, c.Others = of.apiServers, of.serviceCIDRs, of.configMaps, of.others
}

// pointers point into a list: nobody else may change it.
func pointers[T any](list []T) []*T {
	out := make([]*T, 0, len(list))
	for i := range list {
		out = append(out, &list[i])
	}
	return out
}

// optionalWait is how long a pass waits for a kind that it can do without: an informer that may not list never syncs.
const optionalWait = 5 * time.Second

// endpointSlices are those of the Services, from the cache. Whoever has a selector has a slice, if an empty one: where one
// is missing the cache lags, or nobody writes them, and nothing can be said of readiness.
func (l *Looker) endpointSlices(ctx context.Context, services []*corev1.Service) ([]*discoveryv1.EndpointSlice, error) {
	ctx, cancel := context.WithTimeout(ctx, optionalWait)
	defer cancel()
	out := []*discoveryv1.EndpointSlice{}
	for _, s := range services {
		var list discoveryv1.EndpointSliceList
		err := l.Cached.List(ctx, &list, client.InNamespace(s.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: s.Name})
		if err != nil {
			return nil, fmt.Errorf("listing EndpointSlices of Service %s/%s: %w", s.Namespace, s.Name, err)
		}
		if len(list.Items) == 0 && len(s.Spec.Selector) > 0 {
			return nil, fmt.Errorf("service %s/%s has a selector and no EndpointSlice", s.Namespace, s.Name)
		}
		out = append(out, pointers(list.Items)...)
	}
	return out, nil
}

// gateways are those that are not ours, from the cache; none where the kind is not served. Our label is believed only in the
// namespace that is ours.
func (l *Looker) gateways(ctx context.Context, settings *v1alpha1.GatewaySettings) ([]*gatewayv1.Gateway, error) {
	out := []*gatewayv1.Gateway{}
	if !l.serves(schema.GroupVersionKind{Group: gatewayv1.GroupName, Version: "v1", Kind: "Gateway"}) {
		return out, nil
	}
	ctx, cancel := context.WithTimeout(ctx, optionalWait)
	defer cancel()
	var list gatewayv1.GatewayList
	if err := l.Cached.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing Gateways: %w", err)
	}
	for i := range list.Items {
		g := &list.Items[i]
		if settings == nil || g.Namespace != settings.Namespace || g.Labels[v1alpha1.LabelEntryPoint] == "" {
			out = append(out, g)
		}
	}
	return out, nil
}

// sharing are the members, and every other Service that shares an address or a candidate name with one of them.
func sharing(w *World, members []*corev1.Service) []*corev1.Service {
	shared := map[string]bool{}
	mine := map[string]bool{}
	for _, m := range members {
		mine[m.Namespace+"/"+m.Name] = true
		for _, k := range ties(m) {
			shared[k] = true
		}
	}
	out := slices.Clone(members)
	for i := range w.services {
		s := &w.services[i]
		if mine[s.Namespace+"/"+s.Name] {
			continue
		}
		// Cluster DNS is nobody's neighbour, and its address is nobody's to take.
		if s.Labels["k8s-app"] == "kube-dns" || slices.ContainsFunc(ties(s), func(k string) bool { return shared[k] }) {
			out = append(out, s)
		}
	}
	return out
}

// ties are what may join two Services: addresses in canonical form, and candidate names.
func ties(s *corev1.Service) []string {
	var out []string
	for _, text := range carried(s) {
		if a, _, err := addresspool.Canonical(text); err == nil {
			out = append(out, a.String())
		}
	}
	return append(out, inventory.Candidates(s)...)
}

// carried are the addresses a Service carries, as written.
func carried(s *corev1.Service) []string {
	out := slices.Clone(s.Spec.ExternalIPs)
	for _, in := range s.Status.LoadBalancer.Ingress {
		if in.IP != "" {
			out = append(out, in.IP)
		}
	}
	return out
}
