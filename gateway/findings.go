package gateway

import (
	"fmt"
	"slices"
	"strings"

	"offramp.dev/api/v1alpha1"
)

// Reason codes of the findings of a conversion.
const (
	// ReasonNoGatewaySettings: the policy has no spec.gateway, or it lacks className or namespace.
	ReasonNoGatewaySettings = "NoGatewaySettings"
	// ReasonUnknownGatewayClass: nothing is known about the controller of the class, and the policy names no profile.
	ReasonUnknownGatewayClass = "UnknownGatewayClass"
	// ReasonNoStaticService: profile StaticService, but the policy does not name the Service.
	ReasonNoStaticService = "NoStaticService"
	// ReasonTooManyListeners: one Gateway holds at most 64 listeners.
	ReasonTooManyListeners = "TooManyListeners"
	// ReasonNoHostname: TLS passthrough, and HTTP on a shared data plane, are told apart by hostname only.
	ReasonNoHostname = "NoHostname"
	// ReasonBadHostname: a hostname that no listener can hold.
	ReasonBadHostname = "BadHostname"
	// ReasonPortTaken: two Services of the entry point want one port on one address.
	ReasonPortTaken = "PortTaken"
	// ReasonPortExclusive: a TCP port of a shared data plane belongs to one entry point alone.
	ReasonPortExclusive = "PortExclusive"
	// ReasonPortNotServed: the static Service has no such port.
	ReasonPortNotServed = "PortNotServed"
	// ReasonProtocolNeedsLoadBalancer: UDP and SCTP are not converted to routes.
	ReasonProtocolNeedsLoadBalancer = "ProtocolNeedsLoadBalancer"
	// ReasonRouteNotServed: the cluster or the implementation does not serve the kind of route.
	ReasonRouteNotServed = "RouteNotServed"
	// ReasonSourceAddressLost: externalTrafficPolicy Local showed the client's address, a Gateway hides it.
	ReasonSourceAddressLost = "SourceAddressLost"
	// ReasonAffinityLost: sessionAffinity ClientIP has no counterpart in a route.
	ReasonAffinityLost = "AffinityLost"
	// ReasonNoSelector: a parallel Service needs a selector; EndpointSlices are not copied.
	ReasonNoSelector = "NoSelector"
	// ReasonNothingServed: a headless, ExternalName or portless Service has nothing that could be served elsewhere.
	ReasonNothingServed = "NothingServed"
	// ReasonSharingPolicy: Services that share an address must have equal traffic policy.
	ReasonSharingPolicy = "SharingPolicy"
	// ReasonFamilyNotServed: the Service has no endpoints of the address's family.
	ReasonFamilyNotServed = "FamilyNotServed"
	// ReasonNoAddress: there is no address to pin, or one that cannot be served.
	ReasonNoAddress = "NoAddress"
	// ReasonTooManyAddresses: at most one address per family is pinned.
	ReasonTooManyAddresses = "TooManyAddresses"
	// ReasonBadService: a name, port or selector that the API server would refuse.
	ReasonBadService = "BadService"
	// ReasonNoService: the entry point has no Service.
	ReasonNoService = "NoService"
	// ReasonUnknownStrategy: nothing is known about how to convert to the strategy.
	ReasonUnknownStrategy = "UnknownStrategy"
)

// report collects what a conversion has to say.
type report struct {
	notes    []string
	findings []v1alpha1.Finding
}

func (r *report) note(object, field, format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf("%s %s: %s", object, field, fmt.Sprintf(format, args...)))
}

func (r *report) block(reason, object, message, fix string) {
	r.find(v1alpha1.SeverityBlock, reason, object, message, fix)
}

func (r *report) ask(reason, object, message, fix string) {
	r.find(v1alpha1.SeverityAsk, reason, object, message, fix)
}

func (r *report) find(severity v1alpha1.Severity, reason, object, message, fix string) {
	f := v1alpha1.Finding{Reason: reason, Severity: severity, Object: object, Message: message, Fix: fix}
	if !slices.Contains(r.findings, f) {
		r.findings = append(r.findings, f)
	}
}

func (r *report) blocked() bool {
	for _, f := range r.findings {
		if f.Severity == v1alpha1.SeverityBlock {
			return true
		}
	}
	return false
}

// shown makes tenant text safe to print: quoted, without control characters, and short.
func shown(text string) string {
	const most = 80
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return fmt.Sprintf("%q", text)
}
