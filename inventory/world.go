package inventory

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
)

// world is the cluster, indexed: every question about an address is answered without walking all objects again.
type world struct {
	around
	// resolvers maps addresses of cluster DNS to who says so.
	resolvers map[netip.Addr]string
	nodes     map[netip.Addr]nodeRef
	pods      spans
	services  spans
	// clusterIPs maps to the Service that has it.
	clusterIPs map[netip.Addr]string
	users      map[netip.Addr][]user
	// conflicts are kept by the users that make them, and by address.
	conflicts map[string]map[string]clash
	clashesAt map[netip.Addr]map[string]clash
	quiet     map[netip.Addr][]user
	// ready is nil where EndpointSlices were not looked at.
	ready          map[string]bool
	policies       map[string]*v1alpha1.MigrationPolicy
	policiesSeen   bool
	zones          []*v1alpha1.DNSZone
	names          map[string][]netip.Addr
	namesByAddress map[netip.Addr][]string
	pools          []poolView
	poolsSeen      bool
	// carried are the members that serve addresses, by key.
	carried map[string]*member
	// noAnnouncer: there are nodes, and every one is excluded from load balancers.
	noAnnouncer bool
	// serviceLB is a Service that k3s' ServiceLB serves, or "".
	serviceLB string
	// four and six tell the families of the cluster's Services; neither: not known.
	four, six bool
}

// nodeRef is the node an address belongs to.
type nodeRef struct {
	name         string
	controlPlane bool
}

// user is an object that carries an address now.
type user struct {
	object string
	ports  map[string]bool
	// byField holds the addresses that it carries by spec.externalIPs.
	byField map[netip.Addr]bool
	// named: a name of its own leads to it.
	named bool
}

func look(c Cluster, services []*corev1.Service) *world {
	w := &world{
		around: lookAround(c, usedAddresses(services)), resolvers: map[netip.Addr]string{}, zones: c.Zones,
		clusterIPs: map[netip.Addr]string{}, users: map[netip.Addr][]user{}, conflicts: map[string]map[string]clash{},
		clashesAt: map[netip.Addr]map[string]clash{}, quiet: map[netip.Addr][]user{},
		policies: map[string]*v1alpha1.MigrationPolicy{}, policiesSeen: c.Policies != nil, poolsSeen: c.Pools != nil,
	}
	for _, a := range c.NameServers {
		w.resolvers[a.Unmap()] = "cluster DNS"
	}
	for _, svc := range services {
		w.addClusterIPs(svc)
	}
	for _, p := range c.Policies {
		if p != nil {
			w.policies[p.Name] = p
		}
	}
	w.nodes = nodeAddresses(c.Nodes)
	w.pods, w.services = slices.Concat(podSpans(c.Nodes), w.podRanges).sorted(), slices.Concat(serviceSpans(c.ServiceCIDRs), w.serviceRanges).sorted()
	for _, s := range w.services {
		w.four, w.six = w.four || s.First.Is4(), w.six || s.First.Is6()
	}
	w.noAnnouncer = allExcluded(c.Nodes)
	w.serviceLB = cmp.Or(servedByNodes(c.Nodes, services, w.nodes), servedByPods(c.Workloads))
	w.ready = readiness(c.EndpointSlices)
	w.addNames(c.Names)
	w.pools = viewPools(c.Pools, w.reserved())
	return w
}

func set(addresses []netip.Addr) map[netip.Addr]bool {
	out := make(map[netip.Addr]bool, len(addresses))
	for _, a := range addresses {
		out[a.Unmap()] = true
	}
	return out
}

// addClusterIPs notes cluster IPs, and which of them are cluster DNS by the label every distribution puts there.
func (w *world) addClusterIPs(svc *corev1.Service) {
	for _, text := range clusterIPs(svc) {
		a, _, err := addresspool.Canonical(text)
		if err != nil {
			continue
		}
		w.clusterIPs[a] = "Service " + keyOf(svc)
		if svc.Namespace == "kube-system" && svc.Labels["k8s-app"] == "kube-dns" {
			w.resolvers[a] = "Service " + keyOf(svc)
		}
	}
}

// addNames keeps names in the spelling that candidates have.
func (w *world) addNames(names map[string][]netip.Addr) {
	if names == nil {
		return
	}
	w.names = make(map[string][]netip.Addr, len(names))
	w.namesByAddress = map[netip.Addr][]string{}
	for name, addresses := range names {
		clean, ok := hostname(name)
		if !ok {
			continue
		}
		w.names[clean] = append(w.names[clean], addresses...)
	}
	for name, addresses := range w.names {
		for a := range set(addresses) {
			w.namesByAddress[a] = append(w.namesByAddress[a], name)
		}
	}
	for _, list := range w.namesByAddress {
		slices.Sort(list)
	}
}

// addUsers notes who carries which address now: by the field, by a load balancer's status, or as a Gateway.
func (w *world) addUsers(services []*corev1.Service, members []*member, gateways []*gatewayv1.Gateway) {
	w.carried = make(map[string]*member, len(members))
	for _, m := range members {
		if m.cleanUp == "" || m.redundant {
			w.carried[m.key] = m
		}
	}
	for _, svc := range services {
		u := user{object: "Service " + keyOf(svc), ports: map[string]bool{}}
		var addresses []netip.Addr
		if m, ok := w.carried[keyOf(svc)]; ok {
			addresses, u.byField, u.named = slices.Clone(m.addresses), m.set, len(m.names) > 0
		}
		if svc.Spec.Type == corev1.ServiceTypeLoadBalancer {
			addresses = append(addresses, ingressAddresses(svc)...)
		}
		for _, p := range svc.Spec.Ports {
			u.ports[portText(p)] = true
		}
		w.addUser(u, addresses)
	}
	for _, gw := range gateways {
		if gw != nil {
			w.addUser(gatewayUser(gw))
		}
	}
}

func (w *world) addUser(u user, addresses []netip.Addr) {
	slices.SortFunc(addresses, netip.Addr.Compare)
	for _, a := range slices.Compact(addresses) {
		w.users[a] = append(w.users[a], u)
	}
}

func gatewayUser(gw *gatewayv1.Gateway) (user, []netip.Addr) {
	u := user{object: "Gateway " + gw.Namespace + "/" + gw.Name, ports: map[string]bool{}}
	for _, l := range gw.Spec.Listeners {
		protocol := corev1.ProtocolTCP
		if l.Protocol == gatewayv1.UDPProtocolType {
			protocol = corev1.ProtocolUDP
		}
		u.ports[portText(corev1.ServicePort{Protocol: protocol, Port: l.Port})] = true
	}
	var addresses []netip.Addr
	for _, s := range gw.Status.Addresses {
		if a, _, err := addresspool.Canonical(s.Value); err == nil {
			addresses = append(addresses, a)
		}
	}
	return u, addresses
}

// readiness tells which Services have an endpoint that gets traffic; nil where nobody looked.
func readiness(slicesOf []*discoveryv1.EndpointSlice) map[string]bool {
	if slicesOf == nil {
		return nil
	}
	ready := map[string]bool{}
	for _, s := range slicesOf {
		if s == nil {
			continue
		}
		if slices.ContainsFunc(s.Endpoints, isReady) {
			ready[s.Namespace+"/"+s.Labels[discoveryv1.LabelServiceName]] = true
		}
	}
	return ready
}

// isReady reads an absent condition as ready, as EndpointSlice readers must.
func isReady(e discoveryv1.Endpoint) bool {
	return len(e.Addresses) > 0 && (e.Conditions.Ready == nil || *e.Conditions.Ready)
}

// unique drops nil and repeated Services, sorted by key. The one that came first stands.
func unique(in []*corev1.Service) ([]*corev1.Service, []v1alpha1.Finding) {
	var out []*corev1.Service
	first := map[string]bool{}
	c := collect("Input")
	for _, svc := range in {
		switch {
		case svc == nil:
		case first[keyOf(svc)]:
			c.add(ReasonDuplicateService, v1alpha1.SeverityAsk, "Service "+keyOf(svc),
				"The input holds this Service more than once; the first one was read.", "Give each Service once.")
		default:
			first[keyOf(svc)] = true
			out = append(out, svc)
		}
	}
	slices.SortFunc(out, func(a, b *corev1.Service) int { return strings.Compare(keyOf(a), keyOf(b)) })
	return out, c.findings()
}
