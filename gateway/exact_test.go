package gateway_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"offramp.dev/gateway"
)

// decoded is the object as another decoder gives it: every number a float64.
func decoded(t *testing.T, o *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	data, err := json.Marshal(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: out}
}

// merged applies a JSON merge patch as RFC 7386 says.
func merged(target, patch map[string]any) map[string]any {
	out := maps.Clone(target)
	for key, value := range patch {
		inner, isMap := value.(map[string]any)
		switch {
		case value == nil:
			delete(out, key)
		case isMap:
			below, _ := out[key].(map[string]any)
			if below == nil {
				below = map[string]any{}
			}
			out[key] = merged(below, inner)
		default:
			out[key] = value
		}
	}
	return out
}

func decodedMap(t *testing.T, in map[string]any) map[string]any {
	t.Helper()
	return decoded(t, &unstructured.Unstructured{Object: in}).Object
}

func TestExactHoldsForWhatTheServerAddsByItself(t *testing.T) {
	t.Parallel()
	want, _ := converted(t, "mixed-ports")
	lb, _ := converted(t, "lb")
	for _, w := range append(want, lb...) {
		live := decoded(t, w)
		live.SetUID("1")
		live.SetResourceVersion("7")
		live.SetGeneration(3)
		annotations, labels := live.GetAnnotations(), live.GetLabels()
		annotations["metallb.io/ip-allocated-from-pool"], labels["team"] = "edge", "blue"
		live.SetAnnotations(annotations)
		live.SetLabels(labels)
		if w.GetKind() == "Service" {
			set(t, live, "10.96.0.7", "spec", "clusterIP")
			set(t, live, "None", "spec", "sessionAffinity")
			set(t, live, []any{}, "spec", "externalIPs")
		}
		if ok, difference := gateway.Exact(w, live); !ok {
			t.Errorf("%s: %s", w.GetKind(), difference)
		}
	}
}

func setInList(t *testing.T, o *unstructured.Unstructured, key string, value any, path ...string) {
	t.Helper()
	list, _, err := unstructured.NestedSlice(o.Object, path...)
	if err != nil {
		t.Fatal(err)
	}
	first, isMap := list[0].(map[string]any)
	if !isMap {
		t.Fatalf("%v holds no object", path)
	}
	first[key] = value
	set(t, o, list, path...)
}

// deviation is a change of a live object and the difference that it makes.
type deviation struct {
	from, kind string
	change     func(*testing.T, *unstructured.Unstructured)
	difference string
}

// serviceDeviations change what the Service holds.
func serviceDeviations() map[string]deviation {
	return map[string]deviation{
		"another pinned address": {"lb", "Service", func(_ *testing.T, o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{
				"metallb.io/loadBalancerIPs":                  "198.51.100.99",
				"external-dns.kubernetes.io/controller":       "offramp",
				"external-dns.alpha.kubernetes.io/controller": "offramp",
			})
		}, `metadata.annotations.metallb.io/loadBalancerIPs: want "198.51.100.10", is "198.51.100.99"`},
		"no annotations at all": {"lb", "Service", func(_ *testing.T, o *unstructured.Unstructured) {
			o.SetAnnotations(nil)
		}, "metadata.annotations"},
		"another label": {"lb", "Service", func(_ *testing.T, o *unstructured.Unstructured) {
			o.SetLabels(map[string]string{"offramp.dev/entrypoint": "other"})
		}, "metadata.labels.offramp.dev/entrypoint"},
		"a narrower selector": {"lb", "Service", func(t *testing.T, o *unstructured.Unstructured) {
			set(t, o, "evil", "spec", "selector", "track")
		}, "spec.selector: holds more"},
		"another port": {"lb", "Service", func(t *testing.T, o *unstructured.Unstructured) {
			setInList(t, o, "port", int64(81), "spec", "ports")
		}, `spec.ports[0].port: want "80", is "81"`},
		"one port more": {"lb", "Service", func(t *testing.T, o *unstructured.Unstructured) {
			list, _, _ := unstructured.NestedSlice(o.Object, "spec", "ports")
			set(t, o, append(list, map[string]any{"port": int64(22)}), "spec", "ports")
		}, "spec.ports: want 1 items, has 2"},
		"node ports switched on": {"lb", "Service", func(t *testing.T, o *unstructured.Unstructured) {
			set(t, o, true, "spec", "allocateLoadBalancerNodePorts")
		}, "spec.allocateLoadBalancerNodePorts"},
	}
}

// additions put something beside what is wanted, or take the object away.
func additions() map[string]deviation {
	return map[string]deviation{
		"externalIPs added": {"lb", "Service", func(t *testing.T, o *unstructured.Unstructured) {
			set(t, o, []any{"203.0.113.1"}, "spec", "externalIPs")
		}, "spec.externalIPs: want it unset"},
		"source ranges added": {"lb", "Service", func(t *testing.T, o *unstructured.Unstructured) {
			set(t, o, []any{"203.0.113.0/24"}, "spec", "loadBalancerSourceRanges")
		}, "spec.loadBalancerSourceRanges: want it unset"},
		"another name": {"lb", "Service", func(_ *testing.T, o *unstructured.Unstructured) { o.SetName("other") }, "metadata.name"},
		"another kind": {"lb", "Service", func(_ *testing.T, o *unstructured.Unstructured) { o.SetKind("Pod") }, "kind"},
		"deletion": {"lb", "Service", func(t *testing.T, o *unstructured.Unstructured) {
			set(t, o, "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp")
		}, "deletionTimestamp"},
		"no spec": {"lb", "Service", func(_ *testing.T, o *unstructured.Unstructured) { delete(o.Object, "spec") }, "spec: absent"},
		"a spec that is text": {"lb", "Service", func(t *testing.T, o *unstructured.Unstructured) {
			o.Object["spec"] = "hostile"
		}, "spec: absent"},
	}
}

// gatewayDeviations change Gateway and route.
func gatewayDeviations() map[string]deviation {
	return map[string]deviation{
		"addresses added to the Gateway": {"http", "Gateway", func(t *testing.T, o *unstructured.Unstructured) {
			set(t, o, []any{map[string]any{"value": "198.51.100.10"}}, "spec", "addresses")
		}, "spec.addresses: want it unset"},
		"a wider namespace selector": {"http", "Gateway", func(t *testing.T, o *unstructured.Unstructured) {
			setInList(t, o, "allowedRoutes", map[string]any{"namespaces": map[string]any{"from": "All"}}, "spec", "listeners")
		}, "spec.listeners[0].allowedRoutes.kinds"},
		"another class": {"http", "Gateway", func(t *testing.T, o *unstructured.Unstructured) {
			set(t, o, "other", "spec", "gatewayClassName")
		}, "spec.gatewayClassName"},
		"another backend": {"http", "HTTPRoute", func(t *testing.T, o *unstructured.Unstructured) {
			evil := map[string]any{"group": "", "kind": "Service", "name": "evil", "port": int64(80), "weight": int64(1)}
			setInList(t, o, "backendRefs", []any{evil}, "spec", "rules")
		}, `spec.rules[0].backendRefs[0].name: want "web", is "evil"`},
		"a filter that sends requests elsewhere": {"http", "HTTPRoute", func(t *testing.T, o *unstructured.Unstructured) {
			setInList(t, o, "filters", []any{map[string]any{"type": "RequestRedirect"}}, "spec", "rules")
		}, "spec.rules[0].filters: want it unset"},
		"hostnames added to a catch-all": {"http-without-a-name", "HTTPRoute", func(t *testing.T, o *unstructured.Unstructured) {
			set(t, o, []any{"narrow.example.test"}, "spec", "hostnames")
		}, "spec.hostnames: want it unset"},
	}
}

func TestExactNamesTheFirstDifferenceAndRepairMendsIt(t *testing.T) {
	t.Parallel()
	beyondRepair := []string{"another name", "another kind", "deletion"}
	all := serviceDeviations()
	maps.Copy(all, additions())
	maps.Copy(all, gatewayDeviations())
	for name, tt := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, _ := converted(t, tt.from)
			w := pick(t, want, tt.kind)
			live := decoded(t, w)
			tt.change(t, live)
			if ok, difference := gateway.Exact(w, live); ok || !strings.Contains(difference, tt.difference) {
				t.Errorf("got %v %q, want %q", ok, difference, tt.difference)
			}
			repaired := &unstructured.Unstructured{Object: merged(live.Object, decodedMap(t, gateway.Repair(w, live)))}
			if ok, difference := gateway.Exact(w, repaired); ok == slices.Contains(beyondRepair, name) {
				t.Errorf("after the repair: %v %q", ok, difference)
			}
		})
	}
}

func TestExactOfNothingIsNotExact(t *testing.T) {
	t.Parallel()
	want, _ := converted(t, "lb")
	for _, live := range []*unstructured.Unstructured{nil, {}} {
		if ok, difference := gateway.Exact(want[0], live); ok || difference == "" {
			t.Errorf("got %v %q", ok, difference)
		}
	}
}
