package inventory

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// OtherKinds are kinds of other projects that say who announces, writes or names addresses, and that Surroundings.Others
// can hold. Where a kind is served in several versions each is listed; a cluster needs to be asked for one of them only.
func OtherKinds() []schema.GroupVersionKind {
	return slices.Concat(announcerKinds(), ownerKinds(), []schema.GroupVersionKind{
		{Group: "externaldns.k8s.io", Version: "v1alpha1", Kind: "DNSEndpoint"},
		{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "ReferenceGrant"},
		{Group: "gateway.networking.k8s.io", Version: "v1beta1", Kind: "ReferenceGrant"},
	})
}

// announcerKinds tell a network plugin what to announce, or to give out.
func announcerKinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Group: "projectcalico.org", Version: "v3", Kind: kindCalicoBGP},
		{Group: "crd.projectcalico.org", Version: "v1", Kind: kindCalicoBGP},
		{Group: "projectcalico.org", Version: "v3", Kind: "FelixConfiguration"},
		{Group: "crd.projectcalico.org", Version: "v1", Kind: "FelixConfiguration"},
		{Group: groupCilium, Version: "v2", Kind: kindCiliumAdvertisement},
		{Group: groupCilium, Version: "v2alpha1", Kind: kindCiliumAdvertisement},
		{Group: groupCilium, Version: "v2alpha1", Kind: kindCiliumPeering},
		{Group: groupCilium, Version: "v2", Kind: kindCiliumPool},
		{Group: groupCilium, Version: "v2alpha1", Kind: kindCiliumPool},
		{Group: groupCilium, Version: "v2alpha1", Kind: kindCiliumL2},
		{Group: groupOpenShift, Version: "v1", Kind: "Network"},
	}
}

// ownerKinds write Services: proxies of Gateways, charts and operators whose objects hold a Service's spec.
func ownerKinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Group: "gateway.envoyproxy.io", Version: "v1alpha1", Kind: "EnvoyProxy"},
		{Group: "gateway.nginx.org", Version: "v1alpha2", Kind: "NginxProxy"},
		{Group: "helm.cattle.io", Version: "v1", Kind: "HelmChartConfig"},
		{Group: "helm.cattle.io", Version: "v1", Kind: "HelmChart"},
		{Group: "helm.toolkit.fluxcd.io", Version: "v2", Kind: "HelmRelease"},
		{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"},
		{Group: "kafka.strimzi.io", Version: "v1", Kind: "Kafka"},
		{Group: "kafka.strimzi.io", Version: "v1beta2", Kind: "Kafka"},
		{Group: "postgresql.cnpg.io", Version: "v1", Kind: "Cluster"},
		{Group: "grafana.integreatly.org", Version: "v1beta1", Kind: "Grafana"},
		{Group: "rabbitmq.com", Version: "v1beta1", Kind: "RabbitmqCluster"},
		{Group: "operator.victoriametrics.com", Version: "v1beta1", Kind: "VMCluster"},
		{Group: "operator.victoriametrics.com", Version: "v1beta1", Kind: "VMSingle"},
		{Group: "kamaji.clastix.io", Version: "v1alpha1", Kind: "TenantControlPlane"},
		{Group: "awx.ansible.com", Version: "v1beta1", Kind: "AWX"},
	}
}

// The kinds that the judgment tells apart.
const (
	groupCilium             = "cilium.io"
	groupOpenShift          = "config.openshift.io"
	kindCalicoBGP           = "BGPConfiguration"
	kindCiliumAdvertisement = "CiliumBGPAdvertisement"
	kindCiliumPeering       = "CiliumBGPPeeringPolicy"
	kindCiliumPool          = "CiliumLoadBalancerIPPool"
	kindCiliumL2            = "CiliumL2AnnouncementPolicy"
)

// AboutCluster tells whether a ConfigMap says something about the cluster: it is one of ClusterConfigMaps.
func AboutCluster(cm *corev1.ConfigMap) bool {
	return cm != nil && slices.Contains(ClusterConfigMaps(), types.NamespacedName{Namespace: cm.Namespace, Name: cm.Name})
}

// ClusterConfigMaps are the ConfigMaps in which installers, proxies and name servers keep their settings. A cluster has
// some of them at most; reading them one by one by name needs no right to list.
func ClusterConfigMaps() []types.NamespacedName {
	out := []types.NamespacedName{{Namespace: "istio-system", Name: "istio"}}
	for _, name := range []string{
		"kube-proxy", "kubeadm-config", "cilium-config", "coredns", "coredns-custom", "rke2-coredns-rke2-coredns", "antrea-config",
	} {
		out = append(out, types.NamespacedName{Namespace: "kube-system", Name: name})
	}
	return append(out, types.NamespacedName{Namespace: "cilium", Name: "cilium-config"})
}
