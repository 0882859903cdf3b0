package gateway

import "offramp.dev/api/v1alpha1"

// Reason is a row of the table in docs/gateway.md.
type Reason struct {
	Code     string
	Severity v1alpha1.Severity
	// Meaning and WayOut are a sentence each.
	Meaning, WayOut string
}

// Reasons are the codes of the findings of a conversion, in the order in which a reader meets their subjects: policy,
// entry point, Service, address.
func Reasons() []Reason {
	return append(policyReasons(), serviceReasons()...)
}

func policyReasons() []Reason {
	block, ask := v1alpha1.SeverityBlock, v1alpha1.SeverityAsk
	return []Reason{
		{
			ReasonNoGatewaySettings, block, "The policy names no GatewayClass, or no namespace for Gateways.",
			"Set `spec.gateway` in the policy.",
		},
		{
			ReasonUnknownGatewayClass, block, "Nothing is known about how the class's controller binds an address.",
			"Set `spec.gateway.profile`.",
		},
		{
			ReasonNoStaticService, block, "The profile is StaticService, and the policy does not name the Service.",
			"Set `spec.gateway.staticService`.",
		},
		{
			ReasonRouteNotServed, block, "The cluster or the implementation does not serve the kind of route.",
			"Install it, or choose LoadBalancer.",
		},
		{ReasonPortNotServed, block, "The static Service has no such port.", "Add the port, or choose LoadBalancer."},
		{
			ReasonPortExclusive, ask, "A TCP port of a shared data plane belongs to one entry point alone.",
			"Check the class's other Gateways.",
		},
		{ReasonUnknownStrategy, block, "The strategy is none that can be converted to.", "Choose Gateway, LoadBalancer or Adopt."},
		{
			ReasonTooManyListeners, block, "More than 64 listeners: ports times hostnames.",
			"Split the entry point, use a wildcard, or choose LoadBalancer.",
		},
		{
			ReasonNoHostname, block, "TLS passthrough, and HTTP on a shared data plane, need a hostname.",
			"Name the hosts, or choose LoadBalancer.",
		},
		{ReasonBadHostname, block, "A hostname that no listener can hold; an address is one of these.", "Correct the name."},
	}
}

func serviceReasons() []Reason {
	block, ask := v1alpha1.SeverityBlock, v1alpha1.SeverityAsk
	return []Reason{
		{ReasonNoService, block, "The entry point has no Service.", "Name its members."},
		{ReasonBadService, block, "A name, port or selector that the API server would refuse.", "Correct the file."},
		{ReasonNothingServed, block, "A headless, ExternalName or portless Service: its externalIPs are inert.", "Remove the field."},
		{ReasonPortTaken, block, "Two Services of the entry point want one port.", "Split the entry point, or merge the Services."},
		{ReasonProtocolNeedsLoadBalancer, block, "UDP and SCTP become no routes.", "Choose LoadBalancer."},
		{ReasonSourceAddressLost, ask, "Policy Local showed the client's address, a Gateway hides it.", "Approve, or choose LoadBalancer."},
		{ReasonAffinityLost, ask, "Session affinity has no counterpart in a route.", "Approve, or choose LoadBalancer."},
		{
			ReasonNoSelector, block, "A parallel Service needs a selector; EndpointSlices are not copied.",
			"Choose Adopt, or Gateway for HTTP and TLS.",
		},
		{
			ReasonSharingPolicy, block, "Services on one address differ in traffic policy, or are Local with different selectors.",
			"Set Cluster on both, or split.",
		},
		{
			ReasonFamilyNotServed, ask, "The Service does not have the family of the new address.",
			"Check that the Pods do, or drop the family.",
		},
		{
			ReasonNoAddress, block, "There is no address to pin, or one that no load balancer can serve.",
			"Free an address in a pool of the policy.",
		},
		{ReasonTooManyAddresses, block, "More than one address of a family.", "Split the entry point, or serve it on one address."},
	}
}
