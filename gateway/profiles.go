package gateway

import (
	"slices"

	"offramp.dev/api/v1alpha1"
)

// Profiles are the built-in profiles by controller name. Each call returns a fresh map.
func Profiles() map[string]Profile {
	all := map[string]Profile{}
	for _, p := range profileTable() {
		all[p.ControllerName] = p
	}
	return all
}

// ProfileFor is the profile of a class's controller as the policy overrides it. It reports false where neither the
// table nor the policy says how the implementation binds: see ReasonUnknownGatewayClass.
func ProfileFor(controllerName string, settings *v1alpha1.GatewaySettings) (Profile, bool) {
	profile, known := Profiles()[controllerName]
	profile.ControllerName = controllerName
	if settings == nil || settings.Profile == "" {
		return profile, known
	}
	return override(profile, settings.Profile), true
}

// override lets the admin's word on the binding win. Behind a static Service all Gateways share one data plane.
func override(profile Profile, binding v1alpha1.BindingProfile) Profile {
	if profile.Binding != binding {
		profile.Binding = binding
		profile.Source = "MigrationPolicy spec.gateway.profile"
	}
	if binding == v1alpha1.BindingStaticService {
		profile.Merges = true
	}
	return profile
}

// serves reports whether the implementation is known to serve a kind of route, or nothing is known.
func (p Profile) serves(kind string) bool {
	return len(p.Routes) == 0 || slices.Contains(p.Routes, kind)
}

// profileTable says how each implementation binds a Gateway to an address. WritesExternalIPs is set where any released
// version did so, because the version that runs is not known.
func profileTable() []Profile {
	l7AndL4 := []string{kindHTTPRoute, kindTLSRoute, kindTCPRoute}
	return append(generatingProfiles(l7AndL4), staticProfiles(l7AndL4)...)
}

// generatingProfiles are implementations that make a Service per Gateway and copy infrastructure annotations onto it.
func generatingProfiles(routes []string) []Profile {
	return []Profile{
		{
			ControllerName: "gateway.envoyproxy.io/gatewayclass-controller", WritesExternalIPs: true, Routes: routes,
			Binding: v1alpha1.BindingAnnotation,
			Source:  "Envoy Gateway v1.7.5, v1.8.3, v1.9.0 internal/infrastructure/kubernetes/proxy/resource_provider.go",
		},
		{
			ControllerName: "gateway.nginx.org/nginx-gateway-controller", WritesExternalIPs: true, PrefersDualStack: true,
			Binding: v1alpha1.BindingAnnotation, Routes: routes,
			Source: "NGINX Gateway Fabric v2.2.0 to v2.7.0 internal/controller/provisioner/objects.go, issue 5855",
		},
		{
			ControllerName: "istio.io/gateway-controller", PrefersDualStack: true, Routes: routes,
			Binding: v1alpha1.BindingAnnotation,
			Source:  "Istio pilot/pkg/config/kube/gatewaycommon/gateway_utils.go and kube-gateway.yaml",
		},
		{
			ControllerName: "io.cilium/gateway-controller", PrefersDualStack: true, Routes: routes,
			Binding: v1alpha1.BindingAnnotation,
			Source:  "Cilium 1.20 operator/pkg/model/ingestion and gateway_reconcile.go",
		},
		{
			ControllerName: "projectcontour.io/gateway-controller", Routes: routes,
			Binding: v1alpha1.BindingAnnotation,
			Source:  "Contour v1.33.6 internal/provisioner/controller/gateway.go",
		},
		{
			ControllerName: "konghq.com/gateway-operator", Routes: routes,
			Binding: v1alpha1.BindingAnnotation,
			Source:  "Kong Operator 2.3 Gateway API conformance report (GatewayInfrastructurePropagation)",
		},
		{
			ControllerName: "kgateway.dev/kgateway", Routes: routes,
			Binding: v1alpha1.BindingAnnotation,
			Source:  "kgateway 2.4 pkg/deployer/values_helpers.go",
		},
		{
			ControllerName: "kgateway.dev/agentgateway", Routes: routes,
			Binding: v1alpha1.BindingAnnotation,
			Source:  "kgateway 2.1 to 2.4 pkg/deployer (its agentgateway class)",
		},
		{
			ControllerName: "agentgateway.dev/agentgateway", Routes: routes,
			Binding: v1alpha1.BindingAnnotation,
			Source:  "agentgateway, deployer shared with kgateway",
		},
	}
}

// staticProfiles are implementations that serve every Gateway on one Service that an admin made.
func staticProfiles(routes []string) []Profile {
	return []Profile{
		{
			ControllerName: "traefik.io/gateway-controller", Merges: true, Routes: routes,
			Binding: v1alpha1.BindingStaticService,
			Source:  "Traefik v3.7.13 pkg/provider/kubernetes/gateway, issues 12076 and 12500",
		},
		{
			ControllerName: "konghq.com/kic-gateway-controller", Merges: true, Routes: routes,
			Binding: v1alpha1.BindingStaticService,
			Source:  "Kong Kubernetes Ingress Controller, issue 6953",
		},
		{
			ControllerName: "haproxy.org/gateway-controller", Merges: true, Routes: []string{kindTCPRoute},
			Binding: v1alpha1.BindingStaticService,
			Source:  "HAProxy Technologies kubernetes-ingress, issue 826",
		},
		{
			ControllerName: "haproxy-ingress.github.io/controller", Merges: true, Routes: routes,
			Binding: v1alpha1.BindingStaticService,
			Source:  "HAProxy Ingress v0.16.1 pkg/converters/gateway/gateway.go",
		},
		{
			ControllerName: "caddyserver.com/gateway-controller", Merges: true, Routes: routes,
			Binding: v1alpha1.BindingStaticService,
			Source:  "caddyserver/gateway v0.1.0",
		},
	}
}
