package gateway

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"offramp.dev/inventory"
)

// lostByGateway notes, field by field, what a proxy in between changes.
func (c *conversion) lostByGateway(svc *corev1.Service) {
	object := objectOf(svc)
	c.note(object, "spec.externalIPs", "Pods see the Gateway's address as the client's (for HTTP, header X-Forwarded-For names the client)")
	if localPolicy(svc) {
		c.ask(ReasonSourceAddressLost, object+" spec.externalTrafficPolicy",
			"with policy Local the Pods see the client's address; behind a Gateway they do not",
			"approve if no Pod, NetworkPolicy or log needs it, or set spec.strategy of the entry point to LoadBalancer")
		c.note(object, "spec.externalTrafficPolicy", "Local has no counterpart in a route")
	}
	if hasAffinity(svc) {
		c.ask(ReasonAffinityLost, object+" spec.sessionAffinity",
			"routes do not keep a client on one Pod",
			"approve if the Pods share their sessions, or set spec.strategy of the entry point to LoadBalancer")
		c.note(object, "spec.sessionAffinity", "ClientIP has no counterpart in a route")
	}
	c.lostFields(svc, object)
	c.lostHostnames(svc, object)
}

// lostFields notes the fields that act on kube-proxy only.
func (c *conversion) lostFields(svc *corev1.Service, object string) {
	if svc.Spec.PublishNotReadyAddresses {
		c.note(object, "spec.publishNotReadyAddresses", "a Gateway sends to ready Pods only")
	}
	if p := svc.Spec.InternalTrafficPolicy; p != nil && *p == corev1.ServiceInternalTrafficPolicyLocal {
		c.note(object, "spec.internalTrafficPolicy", "a Gateway that sends to Pods directly does not keep traffic on the node")
	}
	if svc.Spec.TrafficDistribution != nil {
		c.note(object, "spec.trafficDistribution", "a Gateway that sends to Pods directly has its own rule")
	}
	c.sourceFields(svc, object)
}

// lostHostnames notes which requests worked before and will not.
func (c *conversion) lostHostnames(svc *corev1.Service, object string) {
	for _, p := range svc.Spec.Ports {
		field := "spec.ports " + portText(p)
		switch kind := inventory.KindOf(p, c.in.Settings.HTTPPorts); {
		case kind == inventory.PortHTTP && len(c.hosts) == 0:
			c.note(object, field, "no hostname is known, so the listener takes every Host; headers of a hop and idle timeouts become the Gateway's")
		case kind == inventory.PortHTTP:
			c.note(object, field, "requests by address or with another Host find no route; headers of a hop and idle timeouts become the Gateway's")
		case kind == inventory.PortTLS:
			c.note(object, field, "connections without SNI, or with another name, are refused")
		case kind == inventory.PortTCP:
			c.note(object, field, "connections end at the Gateway, which opens its own to the Pod: idle timeouts become the Gateway's")
		}
	}
}

// lostByLoadBalancer notes what the parallel Service does not take over.
func (c *conversion) lostByLoadBalancer(svc *corev1.Service) {
	object := objectOf(svc)
	c.sourceFields(svc, object)
	if localPolicy(svc) {
		c.note(object, "spec.healthCheckNodePort", "the parallel Service gets a number of its own")
	}
	if keys := foreignAnnotations(svc); len(keys) > 0 {
		c.note(object, "metadata.annotations", "not copied: %s", strings.Join(keys, ", "))
	}
}

// sourceFields notes what stays with the tenant's Service in every strategy.
func (c *conversion) sourceFields(svc *corev1.Service, object string) {
	if len(svc.Spec.LoadBalancerSourceRanges) > 0 {
		// kube-proxy applies the ranges to load balancer addresses, never to externalIPs: copied, they would begin to act.
		c.note(object, "spec.loadBalancerSourceRanges",
			"they never limited externalIPs and are left out; limit the new address elsewhere if that was meant")
	}
	if svc.Spec.LoadBalancerIP != "" {
		c.note(object, "spec.loadBalancerIP", "stays with the tenant's Service; the target is pinned by annotation")
	}
	for _, p := range svc.Spec.Ports {
		if p.NodePort != 0 {
			c.note(object, "spec.ports "+portText(p)+" nodePort", "%d stays with the tenant's Service; the target has none", p.NodePort)
		}
	}
}

// foreignAnnotations are keys of the source that may change how an address is served or published. The records of tools,
// what Offramp wrote, and keys beyond the tenth are left out.
func foreignAnnotations(svc *corev1.Service) []string {
	const most = 10
	keys := []string{}
	for key := range svc.Annotations {
		if !isRecord(key) {
			keys = append(keys, shown(key))
		}
	}
	slices.Sort(keys)
	if len(keys) > most {
		keys = append(keys[:most], "...")
	}
	return keys
}

func isRecord(key string) bool {
	for _, prefix := range []string{"kubectl.kubernetes.io/", "meta.helm.sh/", "offramp.dev/", "argocd.argoproj.io/"} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}
