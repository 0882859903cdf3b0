package gateway

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Exact reports whether live holds everything that want says: kind, name, labels, annotations and spec. What the API
// server adds by default is fine. Fields that would change what is served, and that want leaves unset on purpose, must
// be unset (see mustBeUnset); lists and selectors must be equal, not only contain. The text is the path of the first
// difference, in the order of paths.
func Exact(want, live *unstructured.Unstructured) (bool, string) {
	difference := firstDifference(want, live)
	return difference == "", difference
}

func firstDifference(want, live *unstructured.Unstructured) string {
	switch {
	case want == nil || live == nil || want.Object == nil || live.Object == nil:
		return "object: absent"
	case want.GroupVersionKind().GroupKind() != live.GroupVersionKind().GroupKind():
		return "kind: want " + want.GetKind() + ", is " + shown(live.GetKind())
	case want.GetNamespace() != live.GetNamespace() || want.GetName() != live.GetName():
		return "metadata.name: want " + nameOf(want) + ", is " + shown(nameOf(live))
	case live.GetDeletionTimestamp() != nil:
		return "metadata.deletionTimestamp: it is being deleted"
	}
	for _, path := range [][]string{{"metadata", "annotations"}, {"metadata", "labels"}, {"spec"}} {
		wanted, _, _ := unstructured.NestedFieldNoCopy(want.Object, path...)
		is, _, _ := unstructured.NestedFieldNoCopy(live.Object, path...)
		if d := different(strings.Join(path, "."), wanted, is); d != "" {
			return d
		}
	}
	return unwanted(want, live)
}

// mustBeUnset lists per kind what somebody else could add to a target to serve it elsewhere or to somebody else.
func mustBeUnset(kind string) [][]string {
	switch kind {
	case kindGateway:
		return [][]string{{"spec", "addresses"}, {"spec", "allowedListeners"}, {"spec", "tls"}, {"spec", "infrastructure", "parametersRef"}}
	case kindService:
		return [][]string{
			{"spec", "externalIPs"},
			{"spec", "externalName"},
			{"spec", "loadBalancerClass"},
			{"spec", "loadBalancerIP"},
			{"spec", "loadBalancerSourceRanges"},
			{"spec", "publishNotReadyAddresses"},
		}
	case kindHTTPRoute:
		return [][]string{{"spec", "hostnames"}}
	default:
		return nil
	}
}

func unwanted(want, live *unstructured.Unstructured) string {
	for _, path := range unwantedPaths(want, live) {
		return strings.Join(path, ".") + ": want it unset"
	}
	return ""
}

// unwantedPaths are the fields of mustBeUnset that live has and want does not.
func unwantedPaths(want, live *unstructured.Unstructured) [][]string {
	out := [][]string{}
	for _, path := range mustBeUnset(want.GetKind()) {
		_, wanted, _ := unstructured.NestedFieldNoCopy(want.Object, path...)
		is, found, _ := unstructured.NestedFieldNoCopy(live.Object, path...)
		if !wanted && found && !emptyValue(is) {
			out = append(out, path)
		}
	}
	return out
}

func emptyValue(value any) bool {
	object, isMap := value.(map[string]any)
	return value == "" || emptyList(value) || (isMap && len(object) == 0)
}

// different returns the path of the first thing in want that is not in is.
func different(path string, want, is any) string {
	switch w := want.(type) {
	case nil:
		return ""
	case map[string]any:
		return differentMap(path, w, is)
	case []any:
		return differentList(path, w, is)
	}
	if sameScalar(want, is) {
		return ""
	}
	if is == nil {
		return path + ": absent, want " + shown(fmt.Sprint(want))
	}
	return path + ": want " + shown(fmt.Sprint(want)) + ", is " + shown(fmt.Sprint(is))
}

func differentMap(path string, want map[string]any, is any) string {
	live, isMap := is.(map[string]any)
	if !isMap && len(want) > 0 {
		return path + ": absent"
	}
	keys := make([]string, 0, len(want))
	for key := range want {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if d := different(path+"."+key, want[key], live[key]); d != "" {
			return d
		}
	}
	if closedMap(path) && len(live) != len(want) {
		return path + ": holds more than wanted"
	}
	if closedRule(path) && live["filters"] != nil {
		return path + ".filters: want it unset"
	}
	return ""
}

// closedMap names maps in which one entry more selects something else.
func closedMap(path string) bool {
	return path == "spec.selector" || strings.HasSuffix(path, ".matchLabels") || path == "spec.infrastructure.annotations"
}

// closedRule names rules and backends of a route: a filter could send requests elsewhere.
func closedRule(path string) bool { return strings.HasSuffix(path, "]") }

func differentList(path string, want []any, is any) string {
	live, isList := is.([]any)
	if !isList || len(live) != len(want) {
		return path + ": want " + strconv.Itoa(len(want)) + " items, has " + strconv.Itoa(len(live))
	}
	for i := range want {
		if d := different(path+"["+strconv.Itoa(i)+"]", want[i], live[i]); d != "" {
			return d
		}
	}
	return ""
}

// sameScalar compares numbers by value: JSON and YAML decoders disagree about their type.
func sameScalar(want, is any) bool {
	a, isNumber := integer(want)
	b, other := integer(is)
	if isNumber || other {
		return isNumber && other && a == b
	}
	switch want.(type) {
	case string, bool:
		return want == is
	default:
		return fmt.Sprint(want) == fmt.Sprint(is)
	}
}
