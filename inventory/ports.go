package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// PortKind is how a Service port would be served by a Gateway.
type PortKind string

// The port kinds.
const (
	PortHTTP PortKind = "HTTP"
	PortTLS  PortKind = "TLS"
	PortTCP  PortKind = "TCP"
	PortUDP  PortKind = "UDP"
	PortSCTP PortKind = "SCTP"
)

// KindOf classifies one port by appProtocol and by what the policy lists (httpPorts); a port's name alone never makes HTTP.
// An appProtocol that is written wins over the list. TLS means that clients speak TLS to the backend itself.
func KindOf(p corev1.ServicePort, httpPorts []int32) PortKind {
	switch p.Protocol {
	case corev1.ProtocolUDP:
		return PortUDP
	case corev1.ProtocolSCTP:
		return PortSCTP
	case corev1.ProtocolTCP:
	}
	if p.AppProtocol == nil || *p.AppProtocol == "" {
		if slices.Contains(httpPorts, p.Port) {
			return PortHTTP
		}
		return PortTCP
	}
	switch strings.ToLower(*p.AppProtocol) {
	case "http", "http2", "h2c", "ws", "grpc", "grpc-web", "kubernetes.io/h2c", "kubernetes.io/ws":
		return PortHTTP
	case "https", "tls", "wss", "grpcs", "kubernetes.io/wss":
		return PortTLS
	}
	return PortTCP
}

// protocolOf is the protocol with the API's default.
func protocolOf(p corev1.ServicePort) corev1.Protocol {
	return cmp.Or(p.Protocol, corev1.ProtocolTCP)
}

// portText is the form "TCP/80" that ledger and catalog use.
func portText(p corev1.ServicePort) string {
	return fmt.Sprintf("%s/%d", protocolOf(p), p.Port)
}

// sortedPorts are the ports of some Services by protocol and number, each once.
func sortedPorts(services ...*corev1.Service) []string {
	type port struct {
		protocol corev1.Protocol
		number   int32
	}
	var all []port
	for _, s := range services {
		for _, p := range s.Spec.Ports {
			all = append(all, port{protocolOf(p), p.Port})
		}
	}
	slices.SortFunc(all, func(a, b port) int {
		return cmp.Or(cmp.Compare(a.protocol, b.protocol), cmp.Compare(a.number, b.number))
	})
	texts := []string{}
	for _, p := range slices.Compact(all) {
		texts = append(texts, fmt.Sprintf("%s/%d", p.protocol, p.number))
	}
	return texts
}
