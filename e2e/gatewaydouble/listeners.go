package gatewaydouble

import (
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// listener is one listener of a Gateway and what was decided about it.
type listener struct {
	spec gatewayv1.Listener
	// kinds are the kinds of routes that may attach.
	kinds []string
	// conflict, refused and refs are what is wrong with it: the conditions Conflicted, Accepted and ResolvedRefs.
	conflict, refused, refs verdict
	attached                []*route
	// port is where the data plane serves it, 0 where none is allocated yet.
	port uint16
}

// valid tells whether routes can attach.
func (l *listener) valid() bool { return l.conflict.good() && l.refused.good() }

func judgeListeners(specs []gatewayv1.Listener) []*listener {
	out := make([]*listener, 0, len(specs))
	for _, spec := range specs {
		l := &listener{spec: spec, conflict: conflicts(spec, specs)}
		l.kinds, l.refs = routeKinds(spec)
		if kindFor(spec.Protocol) == "" {
			l.refused = verdict{
				string(gatewayv1.ListenerReasonUnsupportedProtocol),
				fmt.Sprintf("protocol %s is not served: this double serves HTTP and TCP", spec.Protocol),
			}
		}
		out = append(out, l)
	}
	return out
}

func kindFor(p gatewayv1.ProtocolType) string {
	switch p {
	case gatewayv1.HTTPProtocolType:
		return kindHTTPRoute
	case gatewayv1.TCPProtocolType:
		return kindTCPRoute
	case gatewayv1.HTTPSProtocolType, gatewayv1.TLSProtocolType, gatewayv1.UDPProtocolType:
	}
	return ""
}

// conflicts: listeners of one port must speak one protocol and have different hostnames. Nobody wins a conflict.
func conflicts(l gatewayv1.Listener, all []gatewayv1.Listener) verdict {
	for _, other := range all {
		switch {
		case other.Name == l.Name || other.Port != l.Port:
		case other.Protocol != l.Protocol:
			return verdict{string(gatewayv1.ListenerReasonProtocolConflict), fmt.Sprintf("listener %s has port %d for %s", other.Name, l.Port, other.Protocol)}
		case deref(other.Hostname) == deref(l.Hostname):
			return verdict{string(gatewayv1.ListenerReasonHostnameConflict), fmt.Sprintf("listener %s has port %d for the same hosts", other.Name, l.Port)}
		}
	}
	return verdict{}
}

// routeKinds are the kinds that a listener may serve: its protocol's, or what it allows of that.
func routeKinds(l gatewayv1.Listener) ([]string, verdict) {
	own := kindFor(l.Protocol)
	if own == "" {
		return []string{}, verdict{}
	}
	if l.AllowedRoutes == nil || len(l.AllowedRoutes.Kinds) == 0 {
		return []string{own}, verdict{}
	}
	kinds, refs := []string{}, verdict{}
	for _, k := range l.AllowedRoutes.Kinds {
		if string(k.Kind) == own && (k.Group == nil || *k.Group == gatewayv1.GroupName) {
			kinds = append(kinds, own)
		} else {
			refs = verdict{string(gatewayv1.ListenerReasonInvalidRouteKinds), fmt.Sprintf("allowedRoutes.kinds: %s does not go with protocol %s", k.Kind, l.Protocol)}
		}
	}
	return slices.Compact(kinds), refs
}

// hostname in lower case, "" for every host.
func (l *listener) hostname() string { return strings.ToLower(string(deref(l.spec.Hostname))) }
