package gateway

import (
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/inventory"
)

// gatewayObject is the admin-owned Gateway. spec.addresses stays unset: see the package comment.
func (c *conversion) gatewayObject(profile Profile, listeners []listener) *unstructured.Unstructured {
	items := make([]any, 0, len(listeners))
	for _, l := range listeners {
		items = append(items, l.object())
	}
	spec := map[string]any{"gatewayClassName": c.in.Settings.ClassName, "listeners": items}
	if profile.Binding == v1alpha1.BindingAnnotation {
		// The generated Service inherits these: pinned, and born away from external-dns like everything else.
		annotations := map[string]any{annotationAddresses: joined(c.addresses)}
		maps.Copy(annotations, optOut())
		spec["infrastructure"] = map[string]any{"annotations": annotations}
	}
	return c.object(groupGateway+"/v1", kindGateway, c.in.Settings.Namespace, Name(c.in.EntryPoint), spec)
}

// object is the listener as the Gateway holds it. Only routes of the right kind from the Service's namespace may
// attach; the API server itself sets the label that the selector asks for, so no tenant can claim it.
func (l listener) object() map[string]any {
	out := map[string]any{
		"name":     l.name,
		"port":     int64(l.port.Port),
		"protocol": string(l.kind),
		"allowedRoutes": map[string]any{
			"namespaces": map[string]any{
				"from":     "Selector",
				"selector": map[string]any{"matchLabels": map[string]any{corev1.LabelMetadataName: l.svc.Namespace}},
			},
			"kinds": []any{map[string]any{"group": groupGateway, "kind": routeKind(l.kind)}},
		},
	}
	if l.host != "" {
		out["hostname"] = l.host
	}
	if l.kind == inventory.PortTLS {
		out["tls"] = map[string]any{"mode": "Passthrough"}
	}
	return out
}

// routes makes the routes of every Service port; listeners of one port stand together.
func (c *conversion) routes(listeners []listener) []*unstructured.Unstructured {
	out := []*unstructured.Unstructured{}
	for start := 0; start < len(listeners); {
		end := start + 1
		for end < len(listeners) && samePort(listeners[start], listeners[end]) {
			end++
		}
		out = append(out, c.routesOfPort(listeners[start:end])...)
		start = end
	}
	return out
}

func samePort(a, b listener) bool { return a.svc == b.svc && keyOf(a.port) == keyOf(b.port) }

// routesOfPort makes one route, or several where the port has more hostnames than one route holds.
func (c *conversion) routesOfPort(listeners []listener) []*unstructured.Unstructured {
	out := []*unstructured.Unstructured{}
	for part := 0; len(listeners) > 0; part++ {
		n := min(len(listeners), maxRouteHostnames)
		out = append(out, c.route(listeners[:n], part))
		listeners = listeners[n:]
	}
	return out
}

func (c *conversion) route(listeners []listener, part int) *unstructured.Unstructured {
	first := listeners[0]
	kind := routeKind(first.kind)
	spec := map[string]any{"parentRefs": c.parentRefs(listeners), "rules": []any{first.rule()}}
	if first.host != "" {
		spec["hostnames"] = hostsOf(listeners)
	}
	version := "v1"
	if kind == kindTCPRoute {
		version = c.in.TCPRouteVersion
	}
	return c.object(groupGateway+"/"+version, kind, first.svc.Namespace, c.routeName(first, part), spec)
}

// parentRefs attach to exactly our listeners; without sectionName a route attaches to every listener that lets it.
func (c *conversion) parentRefs(listeners []listener) []any {
	out := make([]any, 0, len(listeners))
	for _, l := range listeners {
		out = append(out, map[string]any{
			"group":       groupGateway,
			"kind":        kindGateway,
			"namespace":   c.in.Settings.Namespace,
			"name":        Name(c.in.EntryPoint),
			"sectionName": l.name,
		})
	}
	return out
}

// rule sends everything to the tenant's own Service: same namespace, so no ReferenceGrant is needed.
func (l listener) rule() map[string]any {
	rule := map[string]any{"backendRefs": []any{map[string]any{
		"group":  "",
		"kind":   kindService,
		"name":   l.svc.Name,
		"port":   int64(l.port.Port),
		"weight": int64(1),
	}}}
	if l.kind == inventory.PortHTTP {
		rule["matches"] = []any{map[string]any{"path": map[string]any{"type": "PathPrefix", "value": "/"}}}
	}
	return rule
}

func hostsOf(listeners []listener) []any {
	out := make([]any, 0, len(listeners))
	for _, l := range listeners {
		out = append(out, l.host)
	}
	return out
}

func (c *conversion) routeName(l listener, part int) string {
	port := strings.ToLower(string(l.kind)) + "-" + strconv.Itoa(int(l.port.Port))
	hash := digest(c.in.EntryPoint, l.svc.Namespace, l.svc.Name, port, strconv.Itoa(part))
	return withHash(l.svc.Name+"-"+port, hash, validation.DNS1123LabelMaxLength)
}
