package inventory

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
)

// settings are what the cluster's ConfigMaps say.
type settings struct {
	proxyMode v1alpha1.ProxyMode
	// strictARP of kube-proxy: in ipvs mode nodes answer ARP for bound addresses unless it is set. nil: not seen.
	strictARP *bool
	// gateOff is the object that turns AllowServiceExternalIPs off, or "".
	gateOff string
	// proxyFree is the project that serves Services instead of kube-proxy, and proxyFreeBy the object that says so.
	proxyFree, proxyFreeBy string
	// nodeIPAM is the object by which Cilium gives node addresses to every load balancer Service, or "".
	nodeIPAM string
	// apis are addresses of the API server that settings name, with the object.
	apis map[netip.Addr]string
	// serviceRanges and podRanges are those that settings name.
	serviceRanges, podRanges spans
	// externalZones are those in which CoreDNS answers with externalIPs (plugin k8s_external).
	externalZones []string
	// unreadable lists settings that could not be read.
	unreadable []Unseen
}

// readSettings reads each ConfigMap by name. What the caller knows wins over them.
func readSettings(c Cluster) settings {
	s := settings{proxyMode: c.ProxyMode, apis: map[netip.Addr]string{}}
	for _, a := range c.APIServers {
		s.apis[a.Unmap()] = ""
	}
	maps := slices.DeleteFunc(slices.Clone(c.ConfigMaps), func(cm *corev1.ConfigMap) bool { return !AboutCluster(cm) })
	slices.SortStableFunc(maps, func(a, b *corev1.ConfigMap) int { return strings.Compare(mapText(a), mapText(b)) })
	for _, cm := range maps {
		s.read(cm)
	}
	for _, o := range ofKind(c.Others, "FelixConfiguration") {
		if on, _, _ := unstructured.NestedBool(o.Object, "spec", "bpfEnabled"); on {
			s.setProxyFree("Calico", objectText(o))
		}
	}
	s.addAPIEndpoints(c.EndpointSlices)
	return s
}

func mapText(cm *corev1.ConfigMap) string { return "ConfigMap " + cm.Namespace + "/" + cm.Name }

func (s *settings) read(cm *corev1.ConfigMap) {
	switch {
	case cm.Name == "kube-proxy":
		s.readProxy(cm)
	case cm.Name == "kubeadm-config":
		s.readKubeadm(cm)
	case cm.Name == "cilium-config":
		s.readCilium(cm)
	case strings.Contains(cm.Name, "coredns"):
		s.readCoreDNS(cm)
	}
}

// parse reads a document of a ConfigMap; where it cannot be read, what depends on it is unknown.
func (s *settings) parse(cm *corev1.ConfigMap, key string, into any) bool {
	text, ok := cm.Data[key]
	if !ok {
		return false
	}
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		s.unreadable = append(s.unreadable, Unseen{Kind: mapText(cm), Why: "its document " + key + " is no readable YAML"})
		return false
	}
	return true
}

// readProxy reads KubeProxyConfiguration. An empty mode is iptables on Linux.
func (s *settings) readProxy(cm *corev1.ConfigMap) {
	var config struct {
		Mode string `json:"mode"`
		IPVS struct {
			StrictARP bool `json:"strictARP"`
		} `json:"ipvs"`
		FeatureGates map[string]bool `json:"featureGates"`
	}
	if !s.parse(cm, "config.conf", &config) {
		return
	}
	modes := map[string]v1alpha1.ProxyMode{
		"": v1alpha1.ProxyIPTables, "iptables": v1alpha1.ProxyIPTables, "ipvs": v1alpha1.ProxyIPVS, "nftables": v1alpha1.ProxyNFTables,
	}
	if mode, ok := modes[config.Mode]; ok && s.proxyMode == "" {
		s.proxyMode = mode
	}
	s.strictARP = &config.IPVS.StrictARP
	if allowed, ok := config.FeatureGates["AllowServiceExternalIPs"]; ok && !allowed {
		s.gateOff = mapText(cm)
	}
}

// readKubeadm reads ClusterConfiguration: the endpoint of the control plane is often a virtual address that no node has.
func (s *settings) readKubeadm(cm *corev1.ConfigMap) {
	var config struct {
		ControlPlaneEndpoint string `json:"controlPlaneEndpoint"`
		Networking           struct {
			ServiceSubnet string `json:"serviceSubnet"`
			PodSubnet     string `json:"podSubnet"`
		} `json:"networking"`
	}
	if !s.parse(cm, "ClusterConfiguration", &config) {
		return
	}
	for _, a := range addressesIn(config.ControlPlaneEndpoint) {
		s.addAPI(a, mapText(cm)+", controlPlaneEndpoint")
	}
	for text := range strings.SplitSeq(config.Networking.ServiceSubnet, ",") {
		s.serviceRanges = s.serviceRanges.add(strings.TrimSpace(text), mapText(cm))
	}
	for text := range strings.SplitSeq(config.Networking.PodSubnet, ",") {
		s.podRanges = s.podRanges.add(strings.TrimSpace(text), mapText(cm))
	}
}

// readCilium: with kube-proxy-replacement Cilium serves Services itself, and kube-proxy's gates say nothing.
func (s *settings) readCilium(cm *corev1.ConfigMap) {
	if v := cm.Data["kube-proxy-replacement"]; v == "true" || v == "strict" {
		s.setProxyFree("Cilium", mapText(cm))
	}
	if cm.Data["default-lb-service-ipam"] == "nodeipam" {
		s.nodeIPAM = mapText(cm)
	}
}

// readCoreDNS finds the zones of plugin k8s_external.
func (s *settings) readCoreDNS(cm *corev1.ConfigMap) {
	for _, key := range sortedKeys(cm.Data) {
		for line := range strings.SplitSeq(cm.Data[key], "\n") {
			words := strings.Fields(line)
			if len(words) == 0 || words[0] != "k8s_external" {
				continue
			}
			for _, word := range words[1:] {
				if zone, ok := hostname(word); ok {
					s.externalZones = append(s.externalZones, zone)
				}
			}
		}
	}
	slices.Sort(s.externalZones)
	s.externalZones = slices.Compact(s.externalZones)
}

// addAPIEndpoints reads the endpoints of Service default/kubernetes: the API servers write them themselves.
func (s *settings) addAPIEndpoints(list []*discoveryv1.EndpointSlice) {
	for _, slice := range list {
		if slice == nil || slice.Namespace != "default" || slice.Labels[discoveryv1.LabelServiceName] != "kubernetes" {
			continue
		}
		for _, e := range slice.Endpoints {
			for _, text := range e.Addresses {
				if a, _, err := addresspool.Canonical(text); err == nil {
					s.addAPI(a, "EndpointSlice default/"+slice.Name)
				}
			}
		}
	}
}

// addAPI keeps the caller's word, and else the object whose name comes first.
func (s *settings) addAPI(a netip.Addr, object string) {
	if old, ok := s.apis[a]; !ok || old != "" && object < old {
		s.apis[a] = object
	}
}

// setProxyFree keeps the object whose name comes first.
func (s *settings) setProxyFree(project, object string) {
	if s.proxyFreeBy == "" || object < s.proxyFreeBy {
		s.proxyFree, s.proxyFreeBy = project, object
	}
}
