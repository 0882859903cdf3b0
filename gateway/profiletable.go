package gateway

import "offramp.dev/api/v1alpha1"

// What an implementation makes of Gateway.spec.addresses.
const (
	addressesIgnored        = "ignored"
	addressesExternalIPs    = "Service spec.externalIPs"
	addressesLoadBalancerIP = "Service spec.loadBalancerIP"
	addressesAnnotation     = "Service annotation lbipam.cilium.io/ips"
)

// profileTable says how each implementation binds a Gateway to an address. WritesExternalIPs is set where any released
// version did so, because the version that runs is not known. Routes are those of the newest version that was read.
func profileTable() []Profile {
	var all []Profile
	for _, part := range [][]Profile{envoyProfiles(), meshProfiles(), operatorProfiles(), kgatewayProfiles(), staticProfiles(), smallProfiles()} {
		all = append(all, part...)
	}
	return all
}

func everyRoute() []string { return []string{kindHTTPRoute, kindTLSRoute, kindTCPRoute} }

// envoyProfiles are the two that write the field that is to go.
func envoyProfiles() []Profile {
	return []Profile{
		{
			Implementation: "Envoy Gateway", ControllerName: "gateway.envoyproxy.io/gatewayclass-controller",
			Binding: v1alpha1.BindingAnnotation, WritesExternalIPs: true, Routes: everyRoute(),
			Addresses: addressesExternalIPs, TrafficPolicy: "Local", Status: "the Service's ingress; with spec.addresses its externalIPs",
			Remark: "TCPRoute v1 from 1.9, v1alpha2 before",
			Source: "v1.7.5, v1.8.3, v1.9.0 internal/infrastructure/kubernetes/proxy/resource_provider.go; " +
				"https://github.com/envoyproxy/gateway/issues/5012",
		},
		{
			Implementation: "NGINX Gateway Fabric", ControllerName: "gateway.nginx.org/nginx-gateway-controller",
			Binding: v1alpha1.BindingAnnotation, WritesExternalIPs: true, PrefersDualStack: true, Routes: everyRoute(),
			Addresses: addressesExternalIPs, TrafficPolicy: "Local", Status: "the Service's ingress",
			Remark: "2.7 sets a loadBalancerClass of its own where spec.addresses is set; TCPRoute v1 from 2.7, v1alpha2 before",
			Source: "v2.2.0 to v2.7.0 internal/controller/provisioner/objects.go; https://github.com/nginx/nginx-gateway-fabric/issues/5855",
		},
	}
}

func meshProfiles() []Profile {
	return []Profile{
		{
			Implementation: "Istio", ControllerName: "istio.io/gateway-controller",
			Binding: v1alpha1.BindingAnnotation, PrefersDualStack: true, Routes: everyRoute(),
			Addresses: addressesLoadBalancerIP, TrafficPolicy: "Cluster", Status: "the Service's ingress and externalIPs, else a cluster IP",
			Remark: "with two spec.addresses it deploys nothing; TCPRoute v1 from 1.31",
			Source: "pilot/pkg/config/kube/gatewaycommon/gateway_utils.go, istio-discovery/files/kube-gateway.yaml; " +
				"https://github.com/istio/istio/issues/47467",
		},
		{
			Implementation: "Cilium", ControllerName: "io.cilium/gateway-controller",
			Binding: v1alpha1.BindingAnnotation, PrefersDualStack: true, Routes: everyRoute(),
			Addresses: addressesAnnotation, TrafficPolicy: "as its GatewayClass config says", Status: "the Service's ingress",
			Remark: "TCPRoute from 1.20",
			Source: "1.20 operator/pkg/model/ingestion, gateway_reconcile.go; https://github.com/cilium/cilium/pull/33042",
		},
	}
}

func operatorProfiles() []Profile {
	return []Profile{
		{
			Implementation: "Contour provisioner", ControllerName: "projectcontour.io/gateway-controller",
			Binding: v1alpha1.BindingAnnotation, Routes: everyRoute(),
			Addresses: addressesLoadBalancerIP, TrafficPolicy: "Local", Status: "the Service's ingress, compared as text",
			Remark: "TLSRoute and TCPRoute v1alpha2 only",
			Source: "v1.33.6 internal/provisioner/controller/gateway.go",
		},
		{
			Implementation: "Kong Operator", ControllerName: "konghq.com/gateway-operator",
			Binding: v1alpha1.BindingAnnotation, Routes: everyRoute(),
			Addresses: addressesIgnored, TrafficPolicy: "as its GatewayConfiguration says", Status: "the Service's ingress",
			Source: "2.3 Gateway API conformance report (GatewayInfrastructurePropagation claimed, GatewayStaticAddresses not)",
		},
	}
}

func kgatewayProfiles() []Profile {
	base := Profile{
		Binding: v1alpha1.BindingAnnotation, Routes: everyRoute(), Addresses: addressesLoadBalancerIP,
		TrafficPolicy: "as its GatewayParameters say", Status: "the Service's ingress", Remark: "2.0 ignored spec.addresses",
		Source: "kgateway 2.4 pkg/deployer/values_helpers.go; https://github.com/kgateway-dev/kgateway/issues/12174",
	}
	kgateway, bundled, alone := base, base, base
	kgateway.Implementation, kgateway.ControllerName = "kgateway", "kgateway.dev/kgateway"
	bundled.Implementation, bundled.ControllerName = "agentgateway of kgateway", "kgateway.dev/agentgateway"
	bundled.Source = "kgateway 2.1 to 2.4 pkg/deployer (its agentgateway class)"
	alone.Implementation, alone.ControllerName, alone.Remark = "agentgateway", "agentgateway.dev/agentgateway", ""
	alone.Source = "agentgateway, deployer shared with kgateway 2.4 pkg/deployer/values_helpers.go"
	return []Profile{kgateway, bundled, alone}
}

// staticProfiles serve every Gateway on one Service that an admin made.
func staticProfiles() []Profile {
	return []Profile{
		{
			Implementation: "Traefik", ControllerName: "traefik.io/gateway-controller",
			Binding: v1alpha1.BindingStaticService, Merges: true, Routes: everyRoute(),
			Addresses: addressesIgnored, TrafficPolicy: "the static Service's", Status: "one value for all Gateways (statusAddress)",
			Remark: "TCPRoute v1alpha2 and only with experimentalChannel",
			Source: "v3.7.13 pkg/provider/kubernetes/gateway; https://github.com/traefik/traefik/issues/12076, /issues/12500",
		},
		{
			Implementation: "Kong Ingress Controller", ControllerName: "konghq.com/kic-gateway-controller",
			Binding: v1alpha1.BindingStaticService, Merges: true, Routes: everyRoute(),
			Addresses: addressesIgnored, TrafficPolicy: "the static Service's", Status: "the publish Service's ingress and cluster IPs",
			Remark: "TLSRoute and TCPRoute v1alpha2 only",
			Source: "https://github.com/Kong/kubernetes-ingress-controller/issues/6953",
		},
	}
}

func smallProfiles() []Profile {
	return []Profile{
		{
			Implementation: "HAProxy Technologies kubernetes-ingress", ControllerName: "haproxy.org/gateway-controller",
			Binding: v1alpha1.BindingStaticService, Merges: true, Routes: []string{kindTCPRoute},
			Addresses: addressesIgnored, TrafficPolicy: "the static Service's", Status: "none", Remark: "TCPRoute v1alpha2 only",
			Source: "https://github.com/haproxytech/kubernetes-ingress/issues/826",
		},
		{
			Implementation: "HAProxy Ingress", ControllerName: "haproxy-ingress.github.io/controller",
			Binding: v1alpha1.BindingStaticService, Merges: true, Routes: everyRoute(),
			Addresses: addressesIgnored, TrafficPolicy: "the static Service's", Status: "the publish Service's", Remark: "TCPRoute v1alpha2 only",
			Source: "v0.16.1 pkg/converters/gateway/gateway.go",
		},
		{
			Implementation: "Caddy Gateway", ControllerName: "caddyserver.com/gateway-controller",
			Binding: v1alpha1.BindingStaticService, Merges: true, Routes: everyRoute(),
			Addresses: addressesIgnored, TrafficPolicy: "the static Service's", Status: "the Service's ingress",
			Remark: "TLSRoute and TCPRoute v1alpha2 only",
			Source: "github.com/caddyserver/gateway v0.1.0",
		},
	}
}
