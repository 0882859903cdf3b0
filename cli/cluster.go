package cli

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"offramp.dev/addresspool"
	"offramp.dev/addresspool/metallb"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/inventory"
)

// pageSize of a list, so that a big cluster neither times out nor has to be held twice.
const pageSize = 500

// collectCluster reads a cluster with the caller's rights. Without Services there is nothing to say; every other kind that
// cannot be read is unseen, and one that is not served has no objects.
func (a *app) collectCluster(ctx context.Context, conn *Connection, namespace string) (*collection, error) {
	c := &collection{}
	if err := c.services(ctx, conn.Client, namespace); err != nil {
		return nil, err
	}
	for _, list := range []client.ObjectList{
		&corev1.NodeList{}, &discoveryv1.EndpointSliceList{}, &networkingv1.ServiceCIDRList{}, &gatewayv1.GatewayList{},
		&gatewayv1.GatewayClassList{}, &v1alpha1.MigrationPolicyList{}, &v1alpha1.DNSZoneList{},
	} {
		c.see(kindOf(list), each(ctx, conn.Client, list, c.add))
	}
	c.seePools(ctx, conn.Client)
	c.seeProxy(ctx, conn.Client)
	if conn.Server.IsValid() {
		c.APIServers = append(c.APIServers, conn.Server)
	}
	c.presence()
	return c, nil
}

// services reads all of them, or, where the caller may not, those of the one namespace that was asked for.
func (c *collection) services(ctx context.Context, r client.Reader, namespace string) error {
	err := each(ctx, r, &corev1.ServiceList{}, c.add)
	if err == nil {
		return nil
	}
	if !apierrors.IsForbidden(err) || namespace == "" {
		return fmt.Errorf("listing Services: %w", err)
	}
	c.Unseen = append(c.Unseen, inventory.Unseen{Kind: "Service", Why: "only namespace " + namespace + " may be read: " + err.Error()})
	if err := each(ctx, r, &corev1.ServiceList{}, c.add, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("listing Services of namespace %s: %w", namespace, err)
	}
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

func (c *collection) seePools(ctx context.Context, r client.Reader) {
	pools, _, err := metallb.List(ctx, r)
	c.see("IPAddressPool", err)
	if c.Pools = pools; err == nil && pools == nil {
		c.Pools = []addresspool.Pool{}
	}
}

// seeProxy reads kube-proxy's mode; a cluster without that ConfigMap says nothing about it.
func (c *collection) seeProxy(ctx context.Context, r client.Reader) {
	var config corev1.ConfigMap
	err := r.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "kube-proxy"}, &config)
	if err == nil {
		c.addProxyMode(&config)
	}
	c.see("ConfigMap kube-system/kube-proxy", err)
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
}

func fill[T any](list *[]T, unseen bool) {
	if *list == nil && !unseen {
		*list = []T{}
	}
}

// kindOf is the kind of a list's items.
func kindOf(list client.ObjectList) string {
	name := fmt.Sprintf("%T", list)
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] == '.' {
			return name[i+1 : len(name)-len("List")]
		}
	}
	return name
}

// each lists page by page and hands every object on. A page that came too late (410) starts the list again, unpaged:
// nothing has been handed on by then but whole pages, which the second list would double, so they are collected first.
func each(ctx context.Context, r client.Reader, list client.ObjectList, keep func(client.Object), options ...client.ListOption) error {
	objects, err := pages(ctx, r, list, options)
	if apierrors.IsResourceExpired(err) {
		objects, err = page(ctx, r, list, options)
	}
	if err != nil {
		return err
	}
	for _, o := range objects {
		if object, ok := o.(client.Object); ok {
			keep(object)
		}
	}
	return nil
}

func pages(ctx context.Context, r client.Reader, list client.ObjectList, options []client.ListOption) ([]runtime.Object, error) {
	var out []runtime.Object
	for token := ""; ; {
		objects, err := page(ctx, r, list, append([]client.ListOption{client.Limit(pageSize), client.Continue(token)}, options...))
		if err != nil {
			return nil, err
		}
		out = append(out, objects...)
		if token = list.GetContinue(); token == "" {
			return out, nil
		}
	}
}

func page(ctx context.Context, r client.Reader, list client.ObjectList, options []client.ListOption) ([]runtime.Object, error) {
	if err := meta.SetList(list, nil); err != nil {
		return nil, err
	}
	list.SetContinue("")
	if err := r.List(ctx, list, options...); err != nil {
		return nil, err
	}
	return meta.ExtractListWithAlloc(list)
}
