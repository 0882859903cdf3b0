package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"offramp.dev/addresspool/metallb"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/cli/manifest"
	"offramp.dev/inventory"
)

// collection is what an inventory is taken of, and what could not be read on the way.
type collection struct {
	inventory.Cluster
	// unreadable Services carry the field but do not decode.
	unreadable []unreadable
	// pools are MetalLB's objects, as read.
	pools held
	// origins of the objects of files, by objectKey.
	origins map[string]place
	// mixed: objects of more than one cluster were told.
	mixed bool
	// scratch is used again for every Service of a file.
	scratch []byte
	// replicaSets by "ns/name", as one of their Pods shows them; see addReplicaSets.
	replicaSets map[string]inventory.Workload
	// failed: something was reported as wrong; the answer is not the whole one.
	failed bool
}

// unreadable is a Service that the API server would not take.
type unreadable struct {
	namespace, name string
	labels          labels.Set
	err             *DecodeError
}

// collectFiles reads manifests; everything that is wrong with them is told at once, and the rest is still looked at.
func (a *app) collectFiles(ctx context.Context, paths []string) (*collection, error) {
	c := &collection{}
	reader := manifest.Reader{
		Each: c.read,
		Problem: func(e *manifest.Error) {
			c.failed = true
			a.say("error: %s", oneLine(e.Error()))
		},
	}
	if err := reader.Paths(ctx, paths, a.In); err != nil {
		return nil, err
	}
	if len(c.pools) > 0 {
		pools, _, err := metallb.List(ctx, c.pools)
		if err != nil {
			return nil, fmt.Errorf("reading the pools: %w", err)
		}
		c.Pools = pools
	}
	c.addReplicaSets()
	if c.Nodes == nil {
		c.Unseen = append(c.Unseen, inventory.Unseen{Kind: "Node", Why: "the input holds none, so addresses of nodes are not told apart"})
	}
	return c, nil
}

// place is where an object of a file stands first, and which it is.
type place struct {
	manifest.Origin
	uid types.UID
}

// origin tells where an object of a file stands, by its name in findings: "Service ns/name", "Node name". Of an object that
// was given more than once it is the first place. Objects of a cluster have none.
func (c *collection) origin(key string) (manifest.Origin, bool) {
	o, found := c.origins[key]
	return o.Origin, found
}

// remember keeps the place of the object that is called key. One name with two UIDs is told once: whoever gives the exports
// of two clusters together gives hundreds of them.
func (c *collection) remember(key string, at manifest.Origin, uid types.UID) error {
	if c.origins == nil {
		c.origins = map[string]place{}
	}
	first, known := c.origins[key]
	if !known {
		c.origins[key] = place{at, uid}
		return nil
	}
	if c.mixed || uid == "" || first.uid == "" || uid == first.uid {
		return nil
	}
	c.mixed = true
	return fmt.Errorf("%s has UID %s here and %s at %s: the input holds objects of more than one cluster, or of two times, "+
		"and the first of each name was read; look at each cluster by itself", key, uid, first.uid, first.Origin)
}

// objectKey is how findings name an object.
func objectKey(kind, namespace, name string) string {
	if namespace == "" {
		return kind + " " + name
	}
	return kind + " " + namespace + "/" + name
}

// read takes one object of a file, if the inventory looks at its kind.
func (c *collection) read(o manifest.Object) error {
	if o.APIVersion == "v1" && o.Kind == "Endpoints" {
		return c.readEndpoints(o)
	}
	object := newObject(o.APIVersion, o.Kind)
	switch {
	case object == nil:
		return c.readOther(o)
	case o.Kind == "ConfigMap" && !aboutCluster(o):
		return nil
	}
	doubles, err := decodeStrict(c.withoutHistory(o), object)
	if err != nil {
		return c.notDecoded(o, err)
	}
	if light, kept := lighten(object); kept {
		c.add(light)
	}
	return errors.Join(doubles, c.remember(objectKey(o.Kind, object.GetNamespace(), object.GetName()), o.Origin, object.GetUID()))
}

// withoutHistory leaves out what is dropped anyway of a Service without the field, before it is decoded: most Services of a
// big cluster are such, and most of each is its history. The field may be written with escapes.
func (c *collection) withoutHistory(o manifest.Object) manifest.Object {
	if o.Kind == "Service" && !mayCarry(o.JSON) {
		c.scratch = manifest.WithoutHistory(c.scratch[:0], o.JSON)
		o.JSON = c.scratch
	}
	return o
}

// notDecoded keeps in mind a Service that carries the field and does not decode.
func (c *collection) notDecoded(o manifest.Object, err error) error {
	var bad *DecodeError
	if errors.As(err, &bad) && o.Kind == "Service" && carriesField(o.JSON) {
		if namespace, name := identity(o); name != unnamed {
			c.unreadable = append(c.unreadable, unreadable{namespace, name, labelsOf(o.JSON), bad})
			return errors.Join(err, c.remember(objectKey(o.Kind, namespace, name), o.Origin, ""))
		}
	}
	return err
}

// aboutCluster tells a ConfigMap that is asked for. Others may hold whatever their programs like.
func aboutCluster(o manifest.Object) bool {
	namespace, name := identity(o)
	return slices.Contains(inventory.ClusterConfigMaps(), types.NamespacedName{Namespace: namespace, Name: name})
}

// carriesField tells whether anything stands in spec.externalIPs, of whatever type.
func carriesField(raw []byte) bool {
	var service struct {
		Spec struct {
			ExternalIPs any `json:"externalIPs"`
		} `json:"spec"`
	}
	if json.Unmarshal(raw, &service) != nil {
		return false
	}
	list, isList := service.Spec.ExternalIPs.([]any)
	return service.Spec.ExternalIPs != nil && (!isList || len(list) > 0)
}

func labelsOf(raw []byte) labels.Set {
	var object struct {
		Metadata struct {
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
	}
	if json.Unmarshal(raw, &object) != nil {
		return nil
	}
	return object.Metadata.Labels
}

// add keeps one object.
func (c *collection) add(object client.Object) {
	switch o := object.(type) {
	case *corev1.Service:
		c.Services = append(c.Services, o)
		c.addNameServer(o)
	case *corev1.Node:
		c.Nodes = append(c.Nodes, o)
	case *discoveryv1.EndpointSlice:
		c.EndpointSlices = append(c.EndpointSlices, o)
		c.addAPIServer(o)
	case *networkingv1.ServiceCIDR:
		c.ServiceCIDRs = append(c.ServiceCIDRs, o)
	case *gatewayv1.Gateway:
		c.Gateways = append(c.Gateways, o)
	case *gatewayv1.GatewayClass:
		c.GatewayClasses = append(c.GatewayClasses, o)
	case *v1alpha1.MigrationPolicy:
		c.Policies = append(c.Policies, o)
	case *v1alpha1.DNSZone:
		c.Zones = append(c.Zones, o)
	case *corev1.ConfigMap:
		c.ConfigMaps = append(c.ConfigMaps, o)
		c.addProxyMode(o)
	case *networkingv1.Ingress:
		c.Ingresses = append(c.Ingresses, o)
	case *networkingv1.NetworkPolicy:
		c.NetworkPolicies = append(c.NetworkPolicies, o)
	case *appsv1.Deployment, *appsv1.DaemonSet, *appsv1.StatefulSet, *batchv1.CronJob, *batchv1.Job, *corev1.Pod:
		c.addWorkload(o)
	default:
		c.pools = append(c.pools, o)
	}
}

// addNameServer recognizes cluster DNS by the name that kubelet and every distribution use for it.
func (c *collection) addNameServer(s *corev1.Service) {
	if s.Namespace != metav1.NamespaceSystem || s.Labels["k8s-app"] != "kube-dns" {
		return
	}
	for _, text := range s.Spec.ClusterIPs {
		if address, err := netip.ParseAddr(text); err == nil {
			c.NameServers = append(c.NameServers, address)
		}
	}
}

// addAPIServer reads where Pods reach the API server.
func (c *collection) addAPIServer(s *discoveryv1.EndpointSlice) {
	if s.Namespace != metav1.NamespaceDefault || s.Labels[discoveryv1.LabelServiceName] != apiServerName {
		return
	}
	for _, endpoint := range s.Endpoints {
		for _, text := range endpoint.Addresses {
			c.addAPIAddress(text)
		}
	}
}

func (c *collection) addAPIAddress(text string) {
	if address, err := netip.ParseAddr(text); err == nil && !slices.Contains(c.APIServers, address) {
		c.APIServers = append(c.APIServers, address)
	}
}

// addProxyMode reads kube-proxy's configuration where kubeadm puts it.
func (c *collection) addProxyMode(m *corev1.ConfigMap) {
	if m.Namespace != metav1.NamespaceSystem || m.Name != "kube-proxy" {
		return
	}
	var config struct {
		Mode string `json:"mode"`
	}
	text, ok := m.Data["config.conf"]
	if !ok || yaml.Unmarshal([]byte(text), &config) != nil {
		return
	}
	c.ProxyMode = proxyMode(config.Mode)
}

// proxyMode translates kube-proxy's word; empty means its default on Linux, iptables.
func proxyMode(word string) v1alpha1.ProxyMode {
	switch strings.ToLower(word) {
	case "", "iptables":
		return v1alpha1.ProxyIPTables
	case "ipvs":
		return v1alpha1.ProxyIPVS
	case "nftables":
		return v1alpha1.ProxyNFTables
	default:
		return ""
	}
}
