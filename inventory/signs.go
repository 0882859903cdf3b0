package inventory

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
)

// mailPorts are SMTP and submission, with and without TLS (RFC 5321, RFC 6409, RFC 8314).
func mailPorts() []int32 { return []int32{25, 465, 587} }

func mailPort(g *group) (*member, int32) {
	for _, m := range g.members {
		for _, p := range m.svc.Spec.Ports {
			if protocolOf(p) == corev1.ProtocolTCP && slices.Contains(mailPorts(), p.Port) {
				return m, p.Port
			}
		}
	}
	return nil, 0
}

// bakedInApps are applications that tell clients, or each other, their own address: brokers by advertised listeners, media
// servers by ICE or SDP, gossip by member lists. Their value as a selector is a sign, not a proof, hence only an Ask.
func bakedInApps() []string {
	return []string{
		"kafka", "rabbitmq-stream", "redis-cluster", "jvb", "jitsi-jvb", "jitsi-videobridge", "coturn", "turn", "stun",
		"livekit", "livekit-server", "asterisk", "freeswitch", "kamailio", "opensips", "consul",
	}
}

// bakedInSign says what gives such an application away, or "". Labels and selectors are the tenant's words; all they can do
// is to make the more careful strategy recommended.
func bakedInSign(svc *corev1.Service) string {
	if app := appOf(svc, bakedInApps()); app != "" {
		return "selects " + app
	}
	if _, ok := svc.Spec.Selector["strimzi.io/kind"]; ok {
		return "selects strimzi.io/kind"
	}
	if pod := svc.Spec.Selector["statefulset.kubernetes.io/pod-name"]; pod != "" {
		return "selects the single Pod " + quote(pod)
	}
	return ""
}

// dataPlanes are Ingress and Gateway implementations by the name their charts give them.
func dataPlanes() []string {
	return []string{
		"ingress-nginx", "nginx-ingress", "nginx-ingress-controller", "nginx-gateway", "nginx-gateway-fabric", "traefik", "haproxy-ingress",
		"kubernetes-ingress", "contour", "envoy", "envoy-gateway", "kong", "istio-ingressgateway", "istio-gateway", "ingressgateway",
		"emissary-ingress", "ambassador", "apisix", "skipper-ingress", "caddy-ingress-controller", "kgateway", "gloo", "rke2-ingress-nginx",
	}
}

func dataPlaneSign(svc *corev1.Service) string {
	if app := appOf(svc, dataPlanes()); app != "" {
		return "selector " + app
	}
	return ""
}

// appOf finds one of the applications in the selector's usual labels.
func appOf(svc *corev1.Service, apps []string) string {
	for _, key := range []string{"app.kubernetes.io/name", "app.kubernetes.io/component", "app", "k8s-app", "istio", "component"} {
		if v := svc.Spec.Selector[key]; slices.Contains(apps, v) {
			return fmt.Sprintf("%s=%s", key, v)
		}
	}
	return ""
}

func isLocal(m *member) bool {
	return m.svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

func isSelectorless(m *member) bool {
	return len(m.svc.Spec.Selector) == 0 && m.svc.Spec.Type != corev1.ServiceTypeExternalName
}

func lowerFirst(text string) string { return mapFirst(text, unicode.ToLower) }

// upperFirst makes a sentence of a clause; a clause that begins with a kind keeps it.
func upperFirst(text string) string { return mapFirst(text, unicode.ToUpper) }

func mapFirst(text string, change func(rune) rune) string {
	r, size := utf8.DecodeRuneInString(text)
	if size == 0 || strings.HasPrefix(text, "Service ") {
		return text
	}
	return string(change(r)) + text[size:]
}
