package gateway

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Repair is the JSON merge patch (RFC 7386) that turns live into what want says, so that Exact holds afterwards: want's
// labels, annotations and spec, and null for what must not stand beside them. What others added elsewhere stays. The
// API server may refuse it where a field is immutable (loadBalancerClass).
func Repair(want, live *unstructured.Unstructured) map[string]any {
	patch := map[string]any{
		"metadata": map[string]any{"labels": textMap(want.GetLabels()), "annotations": textMap(want.GetAnnotations())},
		"spec":     patchOf("spec", want.Object["spec"], live.Object["spec"]),
	}
	for _, path := range unwantedPaths(want, live) {
		drop(patch, path)
	}
	return patch
}

// drop writes a null at path, making the maps above it.
func drop(patch map[string]any, path []string) {
	for _, key := range path[:len(path)-1] {
		inner, isMap := patch[key].(map[string]any)
		if !isMap {
			inner = map[string]any{}
			patch[key] = inner
		}
		patch = inner
	}
	patch[path[len(path)-1]] = nil
}

// patchOf copies want and, in maps that are closed, nulls the keys that want does not have.
func patchOf(path string, want, live any) any {
	wanted, isMap := want.(map[string]any)
	if !isMap {
		return want
	}
	is, _ := live.(map[string]any)
	out := make(map[string]any, len(wanted))
	for key, value := range wanted {
		out[key] = patchOf(path+"."+key, value, is[key])
	}
	if closedMap(path) {
		for key := range is {
			if _, kept := wanted[key]; !kept {
				out[key] = nil
			}
		}
	}
	return out
}
