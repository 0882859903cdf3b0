package inventory

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// holder is an object of another project that holds externalIPs at some depth: whoever reads it writes Services.
type holder struct {
	kind, object string
	// namespace is where it puts what it writes; "" is anywhere.
	namespace string
	path      string
	addresses []netip.Addr
}

const (
	// deepest and most bound the search in an object that a tenant wrote.
	deepest = 40
	most    = 32
	// longestChain of owners that is followed.
	longestChain = 16
)

// addObjects notes who holds the field and who owns whom.
func (w *around) addObjects(others []*unstructured.Unstructured) {
	w.holdersAt = map[place][]int{}
	for _, o := range others {
		if o == nil || o.GetKind() == "CustomResourceDefinition" {
			continue
		}
		w.addOwners(o)
		w.holders = append(w.holders, holdersOf(o)...)
	}
	slices.SortFunc(w.holders, func(a, b holder) int { return strings.Compare(a.object+" "+a.path, b.object+" "+b.path) })
	for i, h := range w.holders {
		for _, a := range h.addresses {
			at := place{h.namespace, a}
			w.holdersAt[at] = append(w.holdersAt[at], i)
		}
	}
}

// addOwners notes the owners of an object by its kind, namespace and name: what an owner reference names.
func (w *around) addOwners(o *unstructured.Unstructured) {
	if refs := o.GetOwnerReferences(); len(refs) > 0 {
		key := objectText(o)
		w.owners[key] = append(w.owners[key], ownerText(refs, o.GetNamespace()))
	}
}

// ownerText is the controlling owner, or the first one.
func ownerText(refs []metav1.OwnerReference, namespace string) string {
	ref := refs[0]
	for _, r := range refs {
		if r.Controller != nil && *r.Controller {
			ref = r
		}
	}
	if namespace == "" {
		return ref.Kind + " " + ref.Name
	}
	return ref.Kind + " " + namespace + "/" + ref.Name
}

// root follows owners upward from an object. A circle ends where it closes; owners may also be cluster-scoped.
func (w *around) root(object string) string {
	seen := map[string]bool{object: true}
	for range longestChain {
		next := w.owners[object]
		if len(next) == 0 || seen[next[0]] {
			return object
		}
		object = next[0]
		seen[object] = true
	}
	return object
}

// holdersOf finds every non-empty externalIPs of an object. Documents inside a text (values of a chart) are searched as text.
func holdersOf(o *unstructured.Unstructured) []holder {
	var out []holder
	search := finder{budget: 100_000, found: func(path string, addresses []netip.Addr) {
		if len(addresses) > 0 && len(out) < most {
			out = append(out, holder{o.GetKind(), objectText(o), targetNamespace(o), path, addresses})
		}
	}}
	for _, key := range sortedKeys(o.Object) {
		if key != "metadata" && key != "status" {
			search.value(key, key, o.Object[key], deepest)
		}
	}
	return out
}

// finder walks an object. Its budget of values bounds what one object costs.
type finder struct {
	budget int
	found  func(path string, addresses []netip.Addr)
}

func (f *finder) value(key, path string, value any, depth int) {
	f.budget--
	if f.budget < 0 || depth < 0 {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		for _, k := range sortedKeys(v) {
			f.value(k, path+"."+k, v[k], depth-1)
		}
	case []any:
		if key == "externalIPs" {
			f.found(path, listOf(v))
			return
		}
		for i, element := range v {
			f.value("", fmt.Sprintf("%s[%d]", path, i), element, depth-1)
		}
	case string:
		if key == "externalIPs" {
			f.found(path, listOf(v))
		} else if i := strings.Index(v[:min(len(v), longestText)], "externalIPs"); i >= 0 {
			f.found(path, embedded(v[i:]))
		}
	}
}

// embedded reads the list that follows the key in a YAML or JSON text: up to the first line that is neither an element
// nor a continuation of the first.
func embedded(text string) []netip.Addr {
	first, rest, _ := strings.Cut(text, "\n")
	var list strings.Builder
	list.WriteString(first)
	for line := range strings.SplitSeq(rest, "\n") {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "-") && !strings.HasPrefix(line, `"`) {
			break
		}
		list.WriteString(" " + line)
		if list.Len() > longestText {
			break
		}
	}
	return addressesIn(strings.TrimPrefix(list.String(), "externalIPs"))
}

// place is an address in a namespace; "" is any namespace.
type place struct {
	namespace string
	address   netip.Addr
}

// holdersFor are the objects that write this member's addresses: those that put their work into its namespace. At most a
// few for each address.
func (w *around) holdersFor(m *member) []holder {
	var out []holder
	seen := map[int]bool{}
	for _, a := range m.addresses {
		for _, at := range []place{{namespaceOf(m), a}, {"", a}} {
			found := w.holdersAt[at]
			for _, i := range found[:min(len(found), mostPerReason)] {
				if !seen[i] {
					seen[i] = true
					out = append(out, w.holders[i])
				}
			}
		}
	}
	return out
}
