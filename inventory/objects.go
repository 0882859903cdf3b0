package inventory

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ofKind are the objects of a kind, without nil, in order of their names.
func ofKind(list []*unstructured.Unstructured, kind string) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, o := range list {
		if o != nil && o.GetKind() == kind {
			out = append(out, o)
		}
	}
	slices.SortStableFunc(out, func(a, b *unstructured.Unstructured) int { return strings.Compare(objectText(a), objectText(b)) })
	return out
}

// objectText is "Kind ns/name", or "Kind name" without a namespace.
func objectText(o *unstructured.Unstructured) string {
	if ns := o.GetNamespace(); ns != "" {
		return o.GetKind() + " " + ns + "/" + o.GetName()
	}
	return o.GetKind() + " " + o.GetName()
}

// asList is the value if it is a list, or nil.
func asList(value any) []any {
	list, _ := value.([]any)
	return list
}

// at follows member names; nil where there is nothing.
func at(value any, path ...string) any {
	for _, key := range path {
		m, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = m[key]
	}
	return value
}

// textAt is the text at a path, or "".
func textAt(value any, path ...string) string {
	text, _ := at(value, path...).(string)
	return text
}

// textsAt are the texts of the list at a path.
func textsAt(value any, path ...string) []string {
	var out []string
	for _, element := range asList(at(value, path...)) {
		if text, ok := element.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

// targetNamespace is where an object puts what it writes: Flux and Argo CD keep theirs elsewhere.
func targetNamespace(o *unstructured.Unstructured) string {
	return cmp.Or(textAt(o.Object, "spec", "targetNamespace"), textAt(o.Object, "spec", "destination", "namespace"), o.GetNamespace())
}
