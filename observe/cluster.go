package observe

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/inventory"
)

// clusterRecheck is how long what is true of the whole cluster is believed: it changes with the cluster, not with a walk.
const clusterRecheck = 5 * time.Minute

// clusterFacts are what an entry point's surroundings are: addresses that nobody may take, settings of the datapath, who
// announces and gives out addresses.
type clusterFacts struct {
	at           time.Time
	apiServers   []netip.Addr
	serviceCIDRs []*networkingv1.ServiceCIDR
	configMaps   []*corev1.ConfigMap
	others       []*unstructured.Unstructured
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
	for _, at := range []struct {
		kind string
		look func(context.Context, *clusterFacts) error
	}{
		{"API server address", l.lookAtAPIServers},
		{"ServiceCIDR", l.lookAtRanges},
		{"ConfigMap", l.lookAtSettings},
		{"Network plugin", l.lookAtAnnouncers},
	} {
		if err := at.look(ctx, &out); err != nil {
			out.unseen = append(out.unseen, inventory.Unseen{Kind: at.kind, Why: err.Error()})
		}
	}
	return out
}

func (l *Looker) lookAtAPIServers(ctx context.Context, out *clusterFacts) error {
	var list discoveryv1.EndpointSliceList
	err := l.Live.List(ctx, &list, client.InNamespace(corev1.NamespaceDefault), client.MatchingLabels{discoveryv1.LabelServiceName: "kubernetes"})
	if err == nil {
		out.apiServers = endpoints(list.Items)
	}
	return err
}

func (l *Looker) lookAtRanges(ctx context.Context, out *clusterFacts) error {
	var ranges networkingv1.ServiceCIDRList
	if err := l.Live.List(ctx, &ranges); err != nil {
		return err
	}
	out.serviceCIDRs = []*networkingv1.ServiceCIDR{}
	for i := range ranges.Items {
		out.serviceCIDRs = append(out.serviceCIDRs, &ranges.Items[i])
	}
	return nil
}

// lookAtSettings reads by name what kube-proxy, kubeadm, the network plugin and CoreDNS were told. One that is not there
// says nothing; one that may not be read is unseen. The right is given for kube-system only.
func (l *Looker) lookAtSettings(ctx context.Context, out *clusterFacts) error {
	var errs error
	for _, key := range inventory.ClusterConfigMaps() {
		if key.Namespace != metav1.NamespaceSystem {
			continue
		}
		var cm corev1.ConfigMap
		err := l.Live.Get(ctx, key, &cm)
		if err == nil {
			out.configMaps = append(out.configMaps, &cm)
		}
		errs = errors.Join(errs, client.IgnoreNotFound(err))
	}
	return errs
}

// announcers are the groups whose objects the controller may list: network plugins that announce addresses or give them out.
func announcers() []string {
	return []string{"projectcalico.org", "crd.projectcalico.org", "cilium.io", "config.openshift.io"}
}

// lookAtAnnouncers lists the network plugins' objects, each kind in the first version that is served. A kind that is not
// served is not installed.
func (l *Looker) lookAtAnnouncers(ctx context.Context, out *clusterFacts) error {
	out.others = []*unstructured.Unstructured{}
	var errs error
	done := map[string]bool{}
	for _, gvk := range inventory.OtherKinds() {
		if done[gvk.Kind] || !slices.Contains(announcers(), gvk.Group) || !l.serves(gvk) {
			continue
		}
		done[gvk.Kind] = true
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := l.Live.List(ctx, &list); err != nil {
			errs = errors.Join(errs, fmt.Errorf("listing %s: %w", gvk.Kind, err))
			continue
		}
		for i := range list.Items {
			out.others = append(out.others, &list.Items[i])
		}
	}
	return errs
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
