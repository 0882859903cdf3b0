package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"offramp.dev/addresspool"
	"offramp.dev/addresspool/metallb"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/inventory"
)

// clusterReader is one look at a cluster with the caller's rights.
type clusterReader struct {
	*collection
	client.Client
	// namespace that the caller asked for: where the whole cluster may not be read, it is.
	namespace string
}

// collectCluster reads a cluster with the caller's rights. Without Services there is nothing to say; every other kind that
// cannot be read is unseen, and one that is not served has no objects.
func (a *app) collectCluster(ctx context.Context, conn *Connection, namespace string) (*collection, error) {
	c := &collection{}
	r := clusterReader{c, conn.Client, namespace}
	if err := r.list(ctx, &corev1.ServiceList{}); err != nil {
		return nil, fmt.Errorf("listing Services: %w", err)
	}
	for _, list := range clusterScopedLists() {
		c.see(kindOf(list), each(ctx, r, list, c.add))
	}
	for _, list := range slices.Concat(namespacedLists(), workloadLists()) {
		c.see(kindOf(list), r.list(ctx, list))
	}
	c.addReplicaSets()
	r.seePools(ctx)
	r.seeConfigMaps(ctx)
	r.seeAPIServer(ctx, conn)
	r.seeOthers(ctx)
	r.seeEmbedders(ctx)
	c.presence()
	return c, ctx.Err()
}

func clusterScopedLists() []client.ObjectList {
	return []client.ObjectList{
		&corev1.NodeList{}, &networkingv1.ServiceCIDRList{}, &gatewayv1.GatewayClassList{}, &v1alpha1.MigrationPolicyList{},
		&v1alpha1.DNSZoneList{},
	}
}

func namespacedLists() []client.ObjectList {
	return []client.ObjectList{
		&discoveryv1.EndpointSliceList{}, &gatewayv1.GatewayList{}, &networkingv1.IngressList{}, &networkingv1.NetworkPolicyList{},
	}
}

// list reads all objects of a kind, or, where the caller may not, those of the one namespace that was asked for.
func (r clusterReader) list(ctx context.Context, list client.ObjectList) error {
	err := each(ctx, r, list, r.add)
	if !apierrors.IsForbidden(err) || r.namespace == "" {
		return err
	}
	if inside := each(ctx, r, list, r.add, client.InNamespace(r.namespace)); inside != nil {
		return inside
	}
	r.Unseen = append(r.Unseen, inventory.Unseen{Kind: kindOf(list), Why: "only namespace " + r.namespace + " may be read: " + err.Error()})
	return nil
}

// see keeps in mind what could not be looked at.
func (c *collection) see(kind string, err error) {
	if err != nil && !notServed(err) {
		c.Unseen = append(c.Unseen, inventory.Unseen{Kind: kind, Why: err.Error()})
	}
}

// notServed tells a kind that the cluster does not have from one that may not be read.
func notServed(err error) bool { return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) }

func (r clusterReader) seePools(ctx context.Context) {
	pools, _, err := metallb.List(ctx, r)
	r.see("IPAddressPool", err)
	if r.Pools = pools; err == nil && pools == nil {
		r.Pools = []addresspool.Pool{}
	}
}

// seeConfigMaps reads those that say something about the cluster one by one, which needs no right to list them all.
func (r clusterReader) seeConfigMaps(ctx context.Context) {
	var (
		unread []string
		why    error
	)
	r.ConfigMaps = []*corev1.ConfigMap{}
	for _, name := range inventory.ClusterConfigMaps() {
		config := &corev1.ConfigMap{}
		switch err := r.Get(ctx, name, config); {
		case err == nil:
			r.add(config)
		case !apierrors.IsNotFound(err):
			unread, why = append(unread, name.String()), err
		}
	}
	if why != nil {
		r.see("ConfigMap", fmt.Errorf("%s: %w", strings.Join(unread, ", "), why))
	}
}

// seeAPIServer adds the address that the caller uses, and where EndpointSlices may not be read asks for the older Endpoints.
func (r clusterReader) seeAPIServer(ctx context.Context, conn *Connection) {
	if conn.Server.IsValid() {
		r.addAPIAddress(conn.Server.String())
	}
	if r.EndpointSlices != nil {
		return
	}
	endpoints := &unstructured.Unstructured{}
	endpoints.SetAPIVersion("v1")
	endpoints.SetKind("Endpoints")
	err := r.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: apiServerName}, endpoints)
	if err == nil {
		var read apiServerEndpoints
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(endpoints.Object, &read)
		r.addEndpoints(read)
	}
	r.see("Endpoints default/kubernetes", err)
}

// presence turns "looked at, none there" into empty lists: a nil list would mean that nobody looked.
func (c *collection) presence() {
	unseen := map[string]bool{}
	for _, u := range c.Unseen {
		unseen[u.Kind] = true
	}
	fill(&c.Services, unseen["Service"])
	fill(&c.Nodes, unseen["Node"])
	fill(&c.EndpointSlices, unseen["EndpointSlice"])
	fill(&c.ServiceCIDRs, unseen["ServiceCIDR"])
	fill(&c.Gateways, unseen["Gateway"])
	fill(&c.GatewayClasses, unseen["GatewayClass"])
	fill(&c.Policies, unseen["MigrationPolicy"])
	fill(&c.Zones, unseen["DNSZone"])
	fill(&c.Ingresses, unseen["Ingress"])
	fill(&c.NetworkPolicies, unseen["NetworkPolicy"])
	fill(&c.Others, false)
	fill(&c.Workloads, !slices.ContainsFunc(workloadLists(), func(list client.ObjectList) bool { return !unseen[kindOf(list)] }))
}

func fill[T any](list *[]T, unseen bool) {
	if *list == nil && !unseen {
		*list = []T{}
	}
}
