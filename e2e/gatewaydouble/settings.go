package gatewaydouble

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Names that the double goes by.
const (
	// ControllerName is what a GatewayClass names to be served.
	ControllerName = "double.offramp.dev/gateway-controller"
	// AnnotationMisbehave on a GatewayClass is the Mode of its Gateways.
	AnnotationMisbehave = "double.offramp.dev/misbehave"
	// foreignClass is the loadBalancerClass of ForeignClass; nobody serves it.
	foreignClass = "example.com/other"
	// fieldOwner owns what the double writes into Services.
	fieldOwner = "gatewaydouble"

	annotationAddresses = "metallb.io/loadBalancerIPs"
	labelManagedBy      = "app.kubernetes.io/managed-by"
	labelGateway        = "gateway.networking.k8s.io/gateway-name"
	labelGatewayClass   = "gateway.networking.k8s.io/gateway-class-name"
)

// Mode is how a class's Gateways misbehave.
type Mode string

// Modes.
const (
	// Behave: the Service gets its address from MetalLB, and nothing is reported that is not so.
	Behave Mode = "none"
	// ExternalIPs: the addresses of spec.addresses or, lacking those, of infrastructure annotation
	// metallb.io/loadBalancerIPs go to Service.spec.externalIPs and are reported as programmed, announced or not. As Envoy
	// Gateway to 1.9 and NGINX Gateway Fabric 2.2 to 2.6 do with spec.addresses.
	ExternalIPs Mode = "external-ips"
	// ForeignClass: the Service has a loadBalancerClass that MetalLB does not serve. As NGINX Gateway Fabric 2.7 does.
	ForeignClass Mode = "foreign-class"
	// NoAddress: the Gateway is reported as programmed, without an address and without a Service. As Traefik does where
	// statusAddress is not set, and Istio for what it calls a remote Gateway.
	NoAddress Mode = "no-address"
)

// ParseMode reads a Mode.
func ParseMode(text string) (Mode, error) {
	modes := []Mode{Behave, ExternalIPs, ForeignClass, NoAddress}
	if slices.Contains(modes, Mode(text)) {
		return Mode(text), nil
	}
	return Behave, fmt.Errorf("misbehavior %q: give one of none, external-ips, foreign-class, no-address", text)
}

// Settings are what the double is told.
type Settings struct {
	// Namespace is that of the double's Pods, and of the Gateways that it serves.
	Namespace string
	// Selector selects the double's Pods.
	Selector map[string]string
	// Misbehave is the Mode of classes that do not say.
	Misbehave Mode
	// Ports are those that the process may listen on.
	Ports PortRange
}

// PortRange is First to Last, both included.
type PortRange struct{ First, Last uint16 }

// DefaultPorts keep clear of Linux's ephemeral ports and of the health port.
func DefaultPorts() PortRange { return PortRange{20000, 29999} }

// at reads a Service's target port; false where it is none of the range.
func (r PortRange) at(port int64) (uint16, bool) {
	if port < 0 || port > math.MaxUint16 {
		return 0, false
	}
	number := uint16(port)
	if number < r.First || number > r.Last {
		return 0, false
	}
	return number, true
}

// Validate tells what is missing.
func (s Settings) Validate() error {
	switch {
	case s.Namespace == "":
		return fmt.Errorf("--namespace: give the namespace of the Pods (or POD_NAMESPACE)")
	case len(s.Selector) == 0:
		return fmt.Errorf("--selector: give the labels of the Pods as key=value,key=value")
	case s.Ports.First == 0 || s.Ports.First > s.Ports.Last:
		return fmt.Errorf("--ports: give FIRST-LAST, such as 20000-29999")
	}
	_, err := ParseMode(string(s.Misbehave))
	return err
}

// ParseSelector reads key=value,key=value.
func ParseSelector(text string) (map[string]string, error) {
	out := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		key, value, found := strings.Cut(strings.TrimSpace(pair), "=")
		if !found || key == "" || value == "" {
			return nil, fmt.Errorf("selector %q: give key=value,key=value", text)
		}
		out[key] = value
	}
	return out, nil
}

// kindOf is an object's kind, as references of the Gateway API have it.
const (
	kindGateway   = "Gateway"
	kindHTTPRoute = "HTTPRoute"
	kindTCPRoute  = "TCPRoute"
	kindService   = "Service"
	groupCore     = corev1.GroupName
)
