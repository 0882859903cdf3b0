package gateway

import corev1 "k8s.io/api/core/v1"

type portKind string

const (
	portHTTP portKind = "HTTP"
	portTLS  portKind = "TLS"
	portTCP  portKind = "TCP"
	portUDP  portKind = "UDP"
	portSCTP portKind = "SCTP"
)

func kindOf(p corev1.ServicePort, httpPorts []int32) portKind {
	switch p.Protocol {
	case corev1.ProtocolUDP:
		return portUDP
	case corev1.ProtocolSCTP:
		return portSCTP
	}
	app := ""
	if p.AppProtocol != nil {
		app = *p.AppProtocol
	}
	switch app {
	case "http", "grpc", "kubernetes.io/h2c", "kubernetes.io/ws":
		return portHTTP
	case "https", "tls", "kubernetes.io/wss":
		return portTLS
	}
	for _, n := range httpPorts {
		if n == p.Port {
			return portHTTP
		}
	}
	return portTCP
}
