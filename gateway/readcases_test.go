package gateway_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"offramp.dev/gateway"
)

// change breaks a world that was good.
type change func(t *testing.T, live objects)

// edit changes one object.
type edit func(t *testing.T, o *unstructured.Unstructured)

func on(kind string, f edit) change {
	return func(t *testing.T, live objects) { t.Helper(); f(t, pick(t, live, kind)) }
}

func without(path ...string) edit {
	return func(_ *testing.T, o *unstructured.Unstructured) { unstructured.RemoveNestedField(o.Object, path...) }
}

func cond(list string, all ...any) edit {
	return func(t *testing.T, o *unstructured.Unstructured) { t.Helper(); setCondition(t, o, list, all...) }
}

func value(v any, path ...string) edit {
	return func(t *testing.T, o *unstructured.Unstructured) { t.Helper(); set(t, o, v, path...) }
}

func yes(kind string) any { return condition(kind, "True", 3) }

// readCase is one change and what Read says of it.
type readCase struct {
	change  change
	reason  string
	known   bool
	message string
}

// conditionCases change what the Gateway says.
func conditionCases() map[string]readCase {
	return map[string]readCase{
		"without a status is unknown": {
			on("Gateway", without("status")), gateway.HealthPending, false, "condition Accepted: not reported yet",
		},
		"with a condition of an older generation is unknown": {
			on("Gateway", cond("", condition("Accepted", "True", 2), yes("Programmed"))), gateway.HealthPending, false, "Accepted",
		},
		"without Programmed is unknown": {
			on("Gateway", cond("", yes("Accepted"))), gateway.HealthPending, false, "condition Programmed",
		},
		"with Unknown is unknown": {
			on("Gateway", cond("", yes("Accepted"), condition("Programmed", "Unknown", 3))), gateway.HealthPending, false, "not known yet",
		},
		"that is refused is not accepted": {
			on("Gateway", cond("", condition("Accepted", "False", 3), yes("Programmed"))), gateway.HealthNotAccepted, true, `"said the test"`,
		},
		"that is not programmed is pending and known": {
			on("Gateway", cond("", yes("Accepted"), condition("Programmed", "False", 3))), gateway.HealthPending, true, "Programmed is False",
		},
	}
}

// listenerCases change listeners and addresses.
func listenerCases() map[string]readCase {
	return map[string]readCase{
		"without a listener's status is unknown": {
			on("Gateway", without("status", "listeners")), gateway.HealthPending, false, "status.listeners http-80",
		},
		"with a refused listener is not accepted": {
			on("Gateway", cond("listeners", condition("Accepted", "False", 3), yes("Programmed"), yes("ResolvedRefs"))),
			gateway.HealthNotAccepted, true, "status.listeners http-80",
		},
		"with a conflict is not accepted": {
			on("Gateway", cond("listeners", yes("Accepted"), yes("Programmed"), yes("ResolvedRefs"), yes("Conflicted"))),
			gateway.HealthNotAccepted, true, "Conflicted",
		},
		"without addresses is unknown": {
			on("Gateway", without("status", "addresses")), gateway.HealthPending, false, "no address is reported yet",
		},
		"that reports a hostname is unknown": {
			on("Gateway", value([]any{map[string]any{"type": "Hostname", "value": "lb.example.test"}}, "status", "addresses")),
			gateway.HealthPending, false, "no address is reported yet",
		},
		"on a cluster address is a mismatch": {
			on("Gateway", value([]any{map[string]any{"value": "10.96.0.9"}}, "status", "addresses")),
			gateway.HealthAddressMismatch, true, "lacks the pinned 198.51.100.10",
		},
		"that is being deleted is unknown": {
			on("Gateway", value("2026-01-01T00:00:00Z", "metadata", "deletionTimestamp")), gateway.HealthPending, false, "being deleted",
		},
	}
}

// serviceCases change the generated Service.
func serviceCases() map[string]readCase {
	return map[string]readCase{
		"whose Service has no address is unknown": {
			on("Service", without("status")), gateway.HealthPending, false, "no address is allocated yet",
		},
		"whose Service has another address is a mismatch": {
			on("Service", value(ingress([]string{"198.51.100.11"}), "status")), gateway.HealthAddressMismatch, true, "is not the pinned",
		},
		"whose Service has one address more is a mismatch": {
			on("Service", value(ingress([]string{"198.51.100.10", "198.51.100.11"}), "status")),
			gateway.HealthAddressMismatch, true, "is not the pinned",
		},
		"whose Service has externalIPs rebuilds the problem": {
			on("Service", value([]any{"198.51.100.10"}, "spec", "externalIPs")), gateway.HealthWritesExternalIPs, true, "spec.externalIPs",
		},
		"whose Service has an empty list of externalIPs is fine": {
			on("Service", value([]any{}, "spec", "externalIPs")), gateway.HealthProgrammed, true, "",
		},
		"whose Service has the implementation's class is ignored by MetalLB": {
			on("Service", value("gateway.nginx.org/nginx-gateway-controller", "spec", "loadBalancerClass")), gateway.HealthForeignClass, true,
			"loadBalancerClass",
		},
		"whose Service has MetalLB's class is fine": {
			on("Service", value("metallb.io/edge", "spec", "loadBalancerClass")), gateway.HealthProgrammed, true, "",
		},
		"whose Service is no load balancer gets no address": {
			on("Service", value("ClusterIP", "spec", "type")), gateway.HealthAddressMismatch, true, "spec.type",
		},
	}
}

// routeCases change the route.
func routeCases() map[string]readCase {
	return map[string]readCase{
		"whose route nobody answered is unknown": {
			on("HTTPRoute", without("status")), gateway.HealthPending, false, "has not answered yet",
		},
		"whose route was answered for another listener is unknown": {
			on("HTTPRoute", value([]any{map[string]any{
				"parentRef":  map[string]any{"name": "http-1a2b3c4d", "namespace": "gateways", "sectionName": "other"},
				"conditions": conditions("Accepted", "ResolvedRefs"),
			}}, "status", "parents")), gateway.HealthPending, false, "has not answered yet",
		},
		"whose route is refused is not accepted": {
			on("HTTPRoute", cond("parents", condition("Accepted", "False", 3), yes("ResolvedRefs"))),
			gateway.HealthNotAccepted, true, "HTTPRoute shop/",
		},
		"whose route has no backend is not accepted": {
			on("HTTPRoute", cond("parents", yes("Accepted"), condition("ResolvedRefs", "False", 3))),
			gateway.HealthNotAccepted, true, "ResolvedRefs",
		},
		"with a status that is no status is unknown": {
			on("Gateway", value("hostile", "status")), gateway.HealthPending, false, "not reported yet",
		},
	}
}
