package gateway_test

import (
	"net/netip"
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
		name, _, _ := unstructured.NestedString(map[string]any{"l": l}, "l", "name")
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
	first, isMap := items[0].(map[string]any)
	if !isMap {
		t.Fatalf("status.%s holds no object", list)
	}
	first["conditions"] = all
	set(t, o, items, "status", list)
}
