package gatewaydouble

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// world is everything that the double looks at.
type world struct {
	classes    gatewayv1.GatewayClassList
	gateways   gatewayv1.GatewayList
	httpRoutes gatewayv1.HTTPRouteList
	tcpRoutes  gatewayv1.TCPRouteList
	grants     gatewayv1.ReferenceGrantList
	namespaces corev1.NamespaceList
	services   corev1.ServiceList
	slices     discoveryv1.EndpointSliceList
}

// lists are the world's lists, to be read and to be watched.
func (w *world) lists() []client.ObjectList {
	return []client.ObjectList{
		&w.classes, &w.gateways, &w.httpRoutes, &w.tcpRoutes, &w.grants, &w.namespaces, &w.services, &w.slices,
	}
}

// kinds has one object of each list.
func kinds() []client.Object {
	return []client.Object{
		&gatewayv1.GatewayClass{}, &gatewayv1.Gateway{}, &gatewayv1.HTTPRoute{}, &gatewayv1.TCPRoute{},
		&gatewayv1.ReferenceGrant{}, &corev1.Namespace{}, &corev1.Service{}, &discoveryv1.EndpointSlice{},
	}
}

// look reads the world; one list that cannot be read is no world.
func look(ctx context.Context, c client.Reader) (*world, error) {
	w := &world{}
	for _, list := range w.lists() {
		if err := c.List(ctx, list); err != nil {
			return nil, fmt.Errorf("listing %T: %w", list, err)
		}
	}
	slices.SortFunc(w.gateways.Items, func(a, b gatewayv1.Gateway) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(w.slices.Items, func(a, b discoveryv1.EndpointSlice) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return w, nil
}

func (w *world) service(namespace, name string) *corev1.Service {
	for i := range w.services.Items {
		if s := &w.services.Items[i]; s.Namespace == namespace && s.Name == name {
			return s
		}
	}
	return nil
}

// namespaceLabels is nil for a namespace that is not known.
func (w *world) namespaceLabels(name string) map[string]string {
	for i := range w.namespaces.Items {
		if n := &w.namespaces.Items[i]; n.Name == name {
			return n.Labels
		}
	}
	return nil
}
