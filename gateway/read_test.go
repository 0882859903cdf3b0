package gateway_test

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"offramp.dev/gateway"
)

type objects []*unstructured.Unstructured

// converted is the output of a golden input.
func converted(t *testing.T, name string) (objects, []netip.Addr) {
	t.Helper()
	in := readInput(t, "testdata/"+name+".in.yaml")
	out := gateway.Convert(in)
	if len(out.Objects) == 0 {
		t.Fatalf("%s: no objects: %v", name, out.Findings)
	}
	return out.Objects, in.Addresses
}

// served is a world in which everything in want is served well on the addresses, including the Service that an
// implementation generates or an admin made.
func served(want objects, addresses ...string) objects {
	live := objects{}
	for _, w := range want {
		o := w.DeepCopy()
		o.SetGeneration(3)
		switch o.GetKind() {
		case "Gateway":
			o.Object["status"] = gatewayStatus(o, addresses)
			live = append(live, generated(o, addresses))
		case "Service":
			o.Object["status"] = ingress(addresses)
		default:
			o.Object["status"] = routeStatus(o)
		}
		live = append(live, o)
	}
	return live
}

func condition(kind, status string, generation int64) map[string]any {
	return map[string]any{"type": kind, "status": status, "observedGeneration": generation, "reason": "Test", "message": "said the test"}
}

func conditions(types ...string) []any {
	out := []any{}
	for _, kind := range types {
		out = append(out, condition(kind, "True", 3))
	}
	return out
}

func gatewayStatus(o *unstructured.Unstructured, addresses []string) map[string]any {
	listeners, values := []any{}, []any{}
	specs, _, _ := unstructured.NestedSlice(o.Object, "spec", "listeners")
	for _, l := range specs {
		name := l.(map[string]any)["name"]
		listeners = append(listeners, map[string]any{"name": name, "conditions": conditions("Accepted", "Programmed", "ResolvedRefs")})
	}
	for _, a := range addresses {
		values = append(values, map[string]any{"type": "IPAddress", "value": a})
	}
	return map[string]any{"conditions": conditions("Accepted", "Programmed"), "listeners": listeners, "addresses": values}
}

func routeStatus(o *unstructured.Unstructured) map[string]any {
	parents := []any{}
	refs, _, _ := unstructured.NestedSlice(o.Object, "spec", "parentRefs")
	for _, ref := range refs {
		parents = append(parents, map[string]any{
			"parentRef": ref, "controllerName": "example.test/gateway", "conditions": conditions("Accepted", "ResolvedRefs"),
		})
	}
	return map[string]any{"parents": parents}
}

func ingress(addresses []string) map[string]any {
	list := []any{}
	for _, a := range addresses {
		list = append(list, map[string]any{"ip": a, "ipMode": "VIP"})
	}
	return map[string]any{"loadBalancer": map[string]any{"ingress": list}}
}

func generated(gw *unstructured.Unstructured, addresses []string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service", "spec": map[string]any{"type": "LoadBalancer"}, "status": ingress(addresses),
	}}
	o.SetName(gw.GetName() + "-edge")
	o.SetNamespace(gw.GetNamespace())
	o.SetLabels(map[string]string{"gateway.networking.k8s.io/gateway-name": gw.GetName()})
	return o
}

// pick returns the live object of a kind; the Service that is meant is the generated or static one.
func pick(t *testing.T, live objects, kind string) *unstructured.Unstructured {
	t.Helper()
	for _, o := range live {
		if o.GetKind() == kind {
			return o
		}
	}
	t.Fatalf("no %s", kind)
	return nil
}

func set(t *testing.T, o *unstructured.Unstructured, value any, path ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
		t.Fatal(err)
	}
}

// setCondition replaces the conditions of the first entry of a list in the status, or of the status itself.
func setCondition(t *testing.T, o *unstructured.Unstructured, list string, all ...any) {
	t.Helper()
	if list == "" {
		set(t, o, all, "status", "conditions")
		return
	}
	items, _, _ := unstructured.NestedSlice(o.Object, "status", list)
	items[0].(map[string]any)["conditions"] = all
	set(t, o, items, "status", list)
}

func expectHealth(t *testing.T, got gateway.Health, reason string, known bool, message string) {
	t.Helper()
	if got.Reason != reason || got.Known != known || got.Programmed != (reason == gateway.HealthProgrammed) {
		t.Errorf("got %+v, want reason %s, known %v", got, reason, known)
	}
	if !strings.Contains(got.Message, message) {
		t.Errorf("message %q lacks %q", got.Message, message)
	}
}

func TestReadSaysProgrammedWhenEverythingIsServedOnThePinnedAddresses(t *testing.T) {
	t.Parallel()
	for name, addresses := range map[string][]string{
		"http":            {"198.51.100.10"},
		"mixed-ports":     {"198.51.100.10"},
		"tcp-v1alpha2":    {"198.51.100.10"},
		"dual-stack":      {"2001:0DB8:0::10", "198.51.100.10"},
		"lb":              {"198.51.100.10"},
		"lb-two-services": {"198.51.100.10"},
	} {
		want, pinned := converted(t, name)
		got := gateway.Read(want, served(want, addresses...), pinned)
		expectHealth(t, got, gateway.HealthProgrammed, true, "")
		if len(got.Addresses) != len(pinned) {
			t.Errorf("%s: addresses %v", name, got.Addresses)
		}
	}
}

func TestReadFindsAnObjectThatIsServedInAnotherVersion(t *testing.T) {
	t.Parallel()
	want, pinned := converted(t, "tcp-v1alpha2")
	live := served(want, "198.51.100.10")
	pick(t, live, "TCPRoute").SetAPIVersion("gateway.networking.k8s.io/v1")
	expectHealth(t, gateway.Read(want, live, pinned), gateway.HealthProgrammed, true, "")
}

// TestReadOfAGateway takes one thing away, or breaks it, in a world that was good.
func TestReadOfAGateway(t *testing.T) {
	t.Parallel()
	type change func(t *testing.T, live objects)
	on := func(kind string, f func(*testing.T, *unstructured.Unstructured)) change {
		return func(t *testing.T, live objects) { t.Helper(); f(t, pick(t, live, kind)) }
	}
	without := func(path ...string) func(*testing.T, *unstructured.Unstructured) {
		return func(_ *testing.T, o *unstructured.Unstructured) { unstructured.RemoveNestedField(o.Object, path...) }
	}
	cond := func(list string, all ...any) func(*testing.T, *unstructured.Unstructured) {
		return func(t *testing.T, o *unstructured.Unstructured) { t.Helper(); setCondition(t, o, list, all...) }
	}
	value := func(v any, path ...string) func(*testing.T, *unstructured.Unstructured) {
		return func(t *testing.T, o *unstructured.Unstructured) { t.Helper(); set(t, o, v, path...) }
	}
	yes := func(kind string) any { return condition(kind, "True", 3) }
	for name, tt := range map[string]struct {
		change  change
		reason  string
		known   bool
		message string
	}{
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
		"whose Service has no address is unknown": {
			on("Service", without("status")), gateway.HealthPending, false, "no address is allocated yet",
		},
		"whose Service has another address is a mismatch": {
			on("Service", value(ingress([]string{"198.51.100.11"}), "status")), gateway.HealthAddressMismatch, true, "is not the pinned",
		},
		"whose Service has one address more is a mismatch": {
			on("Service", value(ingress([]string{"198.51.100.10", "198.51.100.11"}), "status")), gateway.HealthAddressMismatch, true, "is not the pinned",
		},
		"whose Service has externalIPs rebuilds the problem": {
			on("Service", value([]any{"198.51.100.10"}, "spec", "externalIPs")), gateway.HealthWritesExternalIPs, true, "spec.externalIPs",
		},
		"whose Service has an empty list of externalIPs is fine": {
			on("Service", value([]any{}, "spec", "externalIPs")), gateway.HealthProgrammed, true, "",
		},
		"whose Service has the implementation's class is ignored by MetalLB": {
			on("Service", value("gateway.nginx.org/nginx-gateway-controller", "spec", "loadBalancerClass")), gateway.HealthForeignClass, true, "loadBalancerClass",
		},
		"whose Service has MetalLB's class is fine": {
			on("Service", value("metallb.io/edge", "spec", "loadBalancerClass")), gateway.HealthProgrammed, true, "",
		},
		"whose Service is no load balancer gets no address": {
			on("Service", value("ClusterIP", "spec", "type")), gateway.HealthAddressMismatch, true, "spec.type",
		},
		"whose route nobody answered is unknown": {
			on("HTTPRoute", without("status")), gateway.HealthPending, false, "has not answered yet",
		},
		"whose route was answered for another listener is unknown": {
			on("HTTPRoute", value([]any{map[string]any{
				"parentRef": map[string]any{"name": "http-1a2b3c4d", "namespace": "gateways", "sectionName": "other"}, "conditions": conditions("Accepted", "ResolvedRefs"),
			}}, "status", "parents")), gateway.HealthPending, false, "has not answered yet",
		},
		"whose route is refused is not accepted": {
			on("HTTPRoute", cond("parents", condition("Accepted", "False", 3), yes("ResolvedRefs"))), gateway.HealthNotAccepted, true, "HTTPRoute shop/",
		},
		"whose route has no backend is not accepted": {
			on("HTTPRoute", cond("parents", yes("Accepted"), condition("ResolvedRefs", "False", 3))), gateway.HealthNotAccepted, true, "ResolvedRefs",
		},
		"with a status that is no status is unknown": {
			on("Gateway", value("hostile", "status")), gateway.HealthPending, false, "not reported yet",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, pinned := converted(t, "http")
			live := served(want, "198.51.100.10")
			tt.change(t, live)
			expectHealth(t, gateway.Read(want, live, pinned), tt.reason, tt.known, tt.message)
		})
	}
}

func TestReadIsNeverHealthyWhenAnyObjectIsMissing(t *testing.T) {
	t.Parallel()
	want, pinned := converted(t, "mixed-ports")
	live := served(want, "198.51.100.10")
	for i := range live {
		rest := append(append(objects{}, live[:i]...), live[i+1:]...)
		expectHealth(t, gateway.Read(want, rest, pinned), gateway.HealthPending, false, "not exist yet")
	}
	expectHealth(t, gateway.Read(want, live, nil), gateway.HealthPending, false, "no pinned address")
	expectHealth(t, gateway.Read(nil, live, pinned), gateway.HealthPending, false, "no target object")
	expectHealth(t, gateway.Read(want, objects{nil, {}}, pinned), gateway.HealthPending, false, "not exist yet")
}

func TestReadTakesNoOtherGatewaysServiceForEvidence(t *testing.T) {
	t.Parallel()
	want, pinned := converted(t, "http")
	live := served(want, "198.51.100.10")
	pick(t, live, "Service").SetLabels(map[string]string{"gateway.networking.k8s.io/gateway-name": "other"})
	expectHealth(t, gateway.Read(want, live, pinned), gateway.HealthPending, false, "does not exist yet")
}

func TestReadFindsEnvoyGatewaysServiceInItsOwnNamespace(t *testing.T) {
	t.Parallel()
	want, pinned := converted(t, "http")
	live := served(want, "198.51.100.10")
	svc := pick(t, live, "Service")
	svc.SetNamespace("envoy-gateway-system")
	svc.SetLabels(map[string]string{"gateway.envoyproxy.io/owning-gateway-name": "http-1a2b3c4d", "gateway.envoyproxy.io/owning-gateway-namespace": "gateways"})
	expectHealth(t, gateway.Read(want, live, pinned), gateway.HealthProgrammed, true, "")
	svc.SetLabels(map[string]string{"gateway.envoyproxy.io/owning-gateway-name": "http-1a2b3c4d", "gateway.envoyproxy.io/owning-gateway-namespace": "elsewhere"})
	expectHealth(t, gateway.Read(want, live, pinned), gateway.HealthPending, false, "does not exist yet")
}

func TestReadOfAStaticServiceTakesTheServiceForEvidence(t *testing.T) {
	t.Parallel()
	want, pinned := converted(t, "static-service")
	live := served(want, "198.51.100.10")
	svc, gw := pick(t, live, "Service"), pick(t, live, "Gateway")
	expectHealth(t, gateway.Read(want, live, pinned), gateway.HealthPending, false, "static Service")
	svc.SetLabels(nil)
	unstructured.RemoveNestedField(gw.Object, "status", "addresses")
	expectHealth(t, gateway.Read(want, live, pinned), gateway.HealthProgrammed, true, "")
	set(t, gw, []any{map[string]any{"value": "198.51.100.99"}}, "status", "addresses")
	expectHealth(t, gateway.Read(want, live, pinned), gateway.HealthAddressMismatch, true, "holds none of the pinned")
	unstructured.RemoveNestedField(gw.Object, "status", "addresses")
	set(t, svc, ingress([]string{"198.51.100.11"}), "status")
	expectHealth(t, gateway.Read(want, live, pinned), gateway.HealthAddressMismatch, true, "is not the pinned")
}

func TestReadOfAParallelServiceComparesTheIngress(t *testing.T) {
	t.Parallel()
	want, pinned := converted(t, "lb")
	live := served(want, "198.51.100.11")
	got := gateway.Read(want, live, pinned)
	expectHealth(t, got, gateway.HealthAddressMismatch, true, "is not the pinned 198.51.100.10")
	if !reflect.DeepEqual(got.Addresses, []netip.Addr{netip.MustParseAddr("198.51.100.11")}) {
		t.Errorf("addresses %v", got.Addresses)
	}
}

func TestReadLeavesItsInputAlone(t *testing.T) {
	t.Parallel()
	want, pinned := converted(t, "mixed-ports")
	live, before := served(want, "198.51.100.10"), served(want, "198.51.100.10")
	gateway.Read(want, live, pinned)
	if again, _ := converted(t, "mixed-ports"); !reflect.DeepEqual(live, before) || !reflect.DeepEqual(want, again) {
		t.Error("Read changed its input")
	}
}
