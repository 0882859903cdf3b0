package inventory

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"offramp.dev/addresspool"
)

// announcer is a setting by which a network plugin announces addresses of Services.
type announcer struct {
	// object that holds the setting, project that obeys it, and the setting for load balancer addresses.
	object, project, balancerSetting string
	// external and balancer tell whether it announces an address because of the field, and as a load balancer's.
	external, balancer func(svc *corev1.Service, a netip.Addr) bool
}

func nothing(*corev1.Service, netip.Addr) bool { return false }

// calicoAnnouncers reads BGPConfiguration: Calico announces externalIPs within serviceExternalIPs, and load balancer
// addresses within serviceLoadBalancerIPs (Calico, "Advertise Kubernetes service IP addresses").
func calicoAnnouncers(others []*unstructured.Unstructured) []announcer {
	var out []announcer
	for _, o := range ofKind(others, kindCalicoBGP) {
		if group := o.GroupVersionKind().Group; !strings.HasSuffix(group, "projectcalico.org") {
			continue
		}
		external, balancer := calicoRanges(o, "serviceExternalIPs"), calicoRanges(o, "serviceLoadBalancerIPs")
		if len(external)+len(balancer) == 0 {
			continue
		}
		out = append(out, announcer{
			object: objectText(o), project: "Calico", balancerSetting: "spec.serviceLoadBalancerIPs",
			external: within(external), balancer: within(balancer),
		})
	}
	return out
}

func calicoRanges(o *unstructured.Unstructured, field string) spans {
	list, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", field)
	var out spans
	for _, element := range asList(list) {
		out = out.add(textAt(element, "cidr"), objectText(o))
	}
	return out.sorted()
}

func within(s spans) func(*corev1.Service, netip.Addr) bool {
	return func(_ *corev1.Service, a netip.Addr) bool {
		_, ok := s.find(a)
		return ok
	}
}

// ciliumAnnouncers reads what Cilium announces: CiliumBGPAdvertisement and CiliumBGPPeeringPolicy over BGP,
// CiliumL2AnnouncementPolicy by ARP and NDP.
func ciliumAnnouncers(others []*unstructured.Unstructured) []announcer {
	var out []announcer
	for _, o := range others {
		if o == nil || o.GroupVersionKind().Group != groupCilium {
			continue
		}
		switch o.GetKind() {
		case kindCiliumAdvertisement:
			out = append(out, ciliumAdvertisements(o)...)
		case kindCiliumPeering:
			out = append(out, ciliumRouters(o)...)
		case kindCiliumL2:
			out = append(out, ciliumL2(o))
		}
	}
	return out
}

func ciliumAdvertisements(o *unstructured.Unstructured) []announcer {
	var out []announcer
	list, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "advertisements")
	for _, element := range asList(list) {
		if textAt(element, "advertisementType") != "Service" {
			continue
		}
		out = append(out, ciliumAnnouncer(o, textsAt(element, "service", "addresses"), at(element, "selector"), false))
	}
	return out
}

func ciliumRouters(o *unstructured.Unstructured) []announcer {
	var out []announcer
	list, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "virtualRouters")
	for _, element := range asList(list) {
		kinds := textsAt(element, "serviceAdvertisements")
		if len(kinds) == 0 { // the default of the kind
			kinds = []string{"LoadBalancerIP"}
		}
		out = append(out, ciliumAnnouncer(o, kinds, at(element, "serviceSelector"), false))
	}
	return out
}

// ciliumL2: without a selector the policy is for every Service.
func ciliumL2(o *unstructured.Unstructured) announcer {
	var kinds []string
	for field, kind := range map[string]string{"externalIPs": "ExternalIP", "loadBalancerIPs": "LoadBalancerIP"} {
		if set, _, _ := unstructured.NestedBool(o.Object, "spec", field); set {
			kinds = append(kinds, kind)
		}
	}
	return ciliumAnnouncer(o, kinds, at(o.Object, "spec", "serviceSelector"), true)
}

func ciliumAnnouncer(o *unstructured.Unstructured, kinds []string, selector any, all bool) announcer {
	selects := serviceSelector(selector, all)
	by := func(kind string) func(*corev1.Service, netip.Addr) bool {
		if !slices.Contains(kinds, kind) {
			return nothing
		}
		return func(svc *corev1.Service, _ netip.Addr) bool { return selects(svc) }
	}
	return announcer{
		object: objectText(o), project: "Cilium", balancerSetting: "LoadBalancerIP among its addresses",
		external: by("ExternalIP"), balancer: by("LoadBalancerIP"),
	}
}

// serviceSelector is Cilium's: labels of the Service, and its namespace and name as labels of their own. One that cannot be
// read selects everything: to warn too often is the safe side.
func serviceSelector(raw any, all bool) func(*corev1.Service) bool {
	if raw == nil {
		return func(*corev1.Service) bool { return all }
	}
	selector, err := selectorOf(raw)
	if err != nil {
		return func(*corev1.Service) bool { return true }
	}
	return func(svc *corev1.Service) bool {
		set := labels.Set{"io.kubernetes.service.namespace": svc.Namespace, "io.kubernetes.service.name": svc.Name}
		for k, v := range svc.Labels {
			if !set.Has(k) {
				set[k] = v
			}
		}
		return selector.Matches(set)
	}
}

func selectorOf(raw any) (labels.Selector, error) {
	text, err := json.Marshal(raw)
	if err != nil {
		return nil, err
	}
	var s metav1.LabelSelector
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	return metav1.LabelSelectorAsSelector(&s)
}

// router is a kube-router that serves externalIPs in some ranges only.
type router struct {
	object string
	ranges spans
	// strict: without a range nothing is served (--strict-external-ip-validation, kube-router v2.8).
	strict bool
}

func (r router) serves(a netip.Addr) bool {
	if len(r.ranges) == 0 {
		return !r.strict
	}
	_, ok := r.ranges.find(a)
	return ok
}

// addRouter reads kube-router's flags. A workload of a tenant says nothing about the cluster.
func (w *around) addRouter(load *Workload, c *Container) {
	if !strings.Contains(c.Image, "kube-router") || !load.system() {
		return
	}
	r := router{object: load.object(), strict: isSet(c.Args, "--strict-external-ip-validation")}
	for _, text := range flagValues(c.Args, "--service-external-ip-range") {
		for part := range strings.SplitSeq(text, ",") {
			r.ranges = r.ranges.add(strings.TrimSpace(part), load.object())
		}
	}
	r.ranges = r.ranges.sorted()
	if proxy := flagValues(c.Args, "--run-service-proxy"); len(proxy) == 0 || proxy[len(proxy)-1] == "true" { // the default
		w.setProxyFree("kube-router", load.object())
		if len(r.ranges) > 0 || r.strict {
			w.routers = append(w.routers, r)
		}
	}
	w.announcers = append(w.announcers, announcer{
		object: load.object(), project: "kube-router", balancerSetting: "--advertise-loadbalancer-ip",
		external: routerAnnounces(c.Args, "--advertise-external-ip", "kube-router.io/service.advertise.externalip"),
		balancer: routerAnnounces(c.Args, "--advertise-loadbalancer-ip", "kube-router.io/service.advertise.loadbalancerip"),
	})
}

// routerAnnounces: a Service's own annotation wins over the flag.
func routerAnnounces(args []string, flag, annotation string) func(*corev1.Service, netip.Addr) bool {
	set := isSet(args, flag)
	return func(svc *corev1.Service, _ netip.Addr) bool {
		switch svc.Annotations[annotation] {
		case "true":
			return true
		case "false":
			return false
		}
		return set
	}
}

// announcerOf is the first that announces the address because of the field.
func (w *around) announcerOf(svc *corev1.Service, a netip.Addr) (announcer, bool) {
	i := slices.IndexFunc(w.announcers, func(n announcer) bool { return n.external(svc, a) })
	if i < 0 {
		return announcer{}, false
	}
	return w.announcers[i], true
}

// announcedAsBalancer tells whether somebody would announce the address of a load balancer.
func (w *around) announcedAsBalancer(svc *corev1.Service, a netip.Addr) bool {
	return slices.ContainsFunc(w.announcers, func(n announcer) bool { return n.balancer(svc, a) })
}

func rangeOf(element any) (addresspool.Range, bool) {
	if p, err := netip.ParsePrefix(textAt(element, "cidr")); err == nil {
		return addresspool.PrefixRange(p), true
	}
	first, _, err := addresspool.Canonical(textAt(element, "start"))
	if err != nil {
		return addresspool.Range{}, false
	}
	last, _, err := addresspool.Canonical(textAt(element, "stop"))
	if err != nil {
		last = first
	}
	return addresspool.Range{First: first, Last: last}, first.BitLen() == last.BitLen() && !last.Less(first)
}
