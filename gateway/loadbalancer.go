package gateway

import (
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// loadBalancer makes one parallel Service beside each Service of the entry point.
func (c *conversion) loadBalancer() []*unstructured.Unstructured {
	c.sharable()
	out := []*unstructured.Unstructured{}
	for _, svc := range c.services {
		if len(svc.Spec.Selector) == 0 {
			c.block(ReasonNoSelector, objectOf(svc)+" spec.selector",
				"its endpoints are not chosen by a selector, and EndpointSlices are not copied to a second Service",
				"set spec.strategy of the entry point to Adopt, or to Gateway where it speaks HTTP or TLS")
			continue
		}
		c.lostByLoadBalancer(svc)
		c.familiesServed(svc)
		out = append(out, c.parallelService(svc))
	}
	return out
}

// sharable checks MetalLB's rule for one address under several Services: disjoint ports (see portsTaken), and Cluster
// policy for all or one selector for all.
func (c *conversion) sharable() {
	for i := 1; i < len(c.services); i++ {
		first, svc := c.services[0], c.services[i]
		oneSelector := equality.Semantic.DeepEqual(first.Spec.Selector, svc.Spec.Selector)
		if localPolicy(first) == localPolicy(svc) && (!localPolicy(svc) || oneSelector) {
			continue
		}
		c.block(ReasonSharingPolicy, objectOf(svc)+" spec.externalTrafficPolicy",
			"it would share an address with "+objectOf(first)+"; MetalLB allows that for policy Cluster on both, or for one selector",
			"set externalTrafficPolicy to Cluster on both, or give them entry points of their own with spec.members")
	}
}

// familiesServed asks where the Service has said that its Pods speak another family only.
func (c *conversion) familiesServed(svc *corev1.Service) {
	for _, family := range families(c.addresses) {
		if len(svc.Spec.IPFamilies) == 0 || slices.Contains(svc.Spec.IPFamilies, family) {
			continue
		}
		c.ask(ReasonFamilyNotServed, objectOf(svc)+" spec.ipFamilies",
			"the Service is not "+string(family)+", so its Pods may have no address that the new one can lead to",
			"check that the cluster and the Pods are "+string(family)+", or serve the entry point on the other family only")
	}
}

// parallelService has the selector of the source and the pinned address. Node ports stay with the source: two Services
// cannot hold one number, and MetalLB needs none.
func (c *conversion) parallelService(svc *corev1.Service) *unstructured.Unstructured {
	spec := map[string]any{
		"type":                          string(corev1.ServiceTypeLoadBalancer),
		"selector":                      textMap(svc.Spec.Selector),
		"ports":                         portObjects(svc.Spec.Ports),
		"allocateLoadBalancerNodePorts": false,
		"externalTrafficPolicy":         string(trafficPolicy(svc)),
	}
	maps.Copy(spec, familySpec(c.addresses, svc.Spec.IPFamilies))
	maps.Copy(spec, affinitySpec(svc))
	if svc.Spec.PublishNotReadyAddresses {
		spec["publishNotReadyAddresses"] = true
	}
	if svc.Spec.InternalTrafficPolicy != nil {
		spec["internalTrafficPolicy"] = string(*svc.Spec.InternalTrafficPolicy)
	}
	if svc.Spec.TrafficDistribution != nil {
		spec["trafficDistribution"] = *svc.Spec.TrafficDistribution
	}
	if c.in.LoadBalancerClass != "" {
		spec["loadBalancerClass"] = c.in.LoadBalancerClass
	}
	object := c.object("v1", kindService, svc.Namespace, ServiceName(c.in.EntryPoint, svc.Namespace, svc.Name), spec)
	object.SetAnnotations(c.serviceAnnotations())
	return object
}

// serviceAnnotations pin the address. The sharing key is set only where it is needed: a Service that has one is not
// announced by an L2Advertisement with serviceSelectors.
func (c *conversion) serviceAnnotations() map[string]string {
	out := map[string]string{
		annotationAddresses:        joined(c.addresses),
		annotationDNSController:    dnsController,
		annotationDNSControllerOld: dnsController,
	}
	if len(c.services) > 1 {
		out[annotationSharing] = Label(c.in.EntryPoint)
	}
	return out
}

func trafficPolicy(svc *corev1.Service) corev1.ServiceExternalTrafficPolicy {
	if localPolicy(svc) {
		return corev1.ServiceExternalTrafficPolicyLocal
	}
	return corev1.ServiceExternalTrafficPolicyCluster
}

// families of the addresses, IPv4 first, each once.
func families(addresses []netip.Addr) []corev1.IPFamily {
	out := []corev1.IPFamily{}
	for _, a := range addresses {
		family := corev1.IPv6Protocol
		if a.Is4() {
			family = corev1.IPv4Protocol
		}
		if !slices.Contains(out, family) {
			out = append(out, family)
		}
	}
	return out
}

// familySpec asks for exactly the families of the addresses, because MetalLB refuses any other set. The source's
// primary family stays the primary one.
func familySpec(addresses []netip.Addr, source []corev1.IPFamily) map[string]any {
	want := families(addresses)
	policy := corev1.IPFamilyPolicySingleStack
	if len(want) > 1 {
		policy = corev1.IPFamilyPolicyRequireDualStack
		if len(source) > 0 && source[0] == corev1.IPv6Protocol {
			slices.Reverse(want)
		}
	}
	list := make([]any, 0, len(want))
	for _, family := range want {
		list = append(list, string(family))
	}
	return map[string]any{"ipFamilies": list, "ipFamilyPolicy": string(policy)}
}

// affinitySpec keeps the affinity. A timeout outside the API's range is left to the API server's default.
func affinitySpec(svc *corev1.Service) map[string]any {
	if !hasAffinity(svc) {
		return map[string]any{"sessionAffinity": string(corev1.ServiceAffinityNone)}
	}
	out := map[string]any{"sessionAffinity": string(corev1.ServiceAffinityClientIP)}
	config := svc.Spec.SessionAffinityConfig
	if config == nil || config.ClientIP == nil || config.ClientIP.TimeoutSeconds == nil {
		return out
	}
	if t := *config.ClientIP.TimeoutSeconds; t > 0 && t <= 86400 {
		out["sessionAffinityConfig"] = map[string]any{"clientIP": map[string]any{"timeoutSeconds": int64(t)}}
	}
	return out
}

func portObjects(ports []corev1.ServicePort) []any {
	out := make([]any, 0, len(ports))
	for _, p := range ports {
		port := map[string]any{"port": int64(p.Port), "protocol": string(p.Protocol), "targetPort": targetPort(p.TargetPort)}
		if p.Name != "" {
			port["name"] = p.Name
		}
		if p.AppProtocol != nil {
			port["appProtocol"] = *p.AppProtocol
		}
		out = append(out, port)
	}
	return out
}

func targetPort(target intstr.IntOrString) any {
	if target.Type == intstr.String {
		return target.StrVal
	}
	return int64(target.IntVal)
}

func textMap(in map[string]string) map[string]any {
	out := make(map[string]any, len(in))
	for key, value := range in {
		out[key] = value
	}
	return out
}
