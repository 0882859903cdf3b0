package inventory

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"offramp.dev/api/v1alpha1"
)

// What bounds the search in an object that somebody else wrote.
const (
	deepestMember  = 64
	mostEmbeddings = 16
	longestValues  = 1 << 20
)

// embedding is one member externalIPs of an object that is no Service.
type embedding struct {
	path   string
	values []string
}

// embedded looks at objects that operators and charts make Services of.
func (a *ahead) embedded(others []*unstructured.Unstructured) {
	for _, o := range others {
		if o == nil || !makesServices(o) {
			continue
		}
		for _, e := range embeddings(o) {
			c := Consequence{Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), Field: e.path, Addresses: e.values}
			a.fieldOf(&c, "The Service that is made of "+c.Object())
			c.Fix = "Take the addresses out of " + e.path + " of " + c.Object() + "; an edit of the Service itself would be reverted."
			a.add(c)
		}
	}
}

// makesServices leaves out what only describes the field, and our own snapshots.
func makesServices(o *unstructured.Unstructured) bool {
	return o.GetKind() != "CustomResourceDefinition" && o.GroupVersionKind().Group != v1alpha1.GroupVersion.Group
}

// embeddings finds them in everything but metadata and status, in order of their paths.
func embeddings(o *unstructured.Unstructured) []embedding {
	s := &search{}
	for _, key := range slices.Sorted(maps.Keys(o.Object)) {
		if key != "metadata" && key != "status" {
			s.look(key, key, o.Object[key], 0)
		}
	}
	return s.found
}

// search walks one object.
type search struct{ found []embedding }

func (s *search) look(path, key string, value any, depth int) {
	if depth > deepestMember || len(s.found) >= mostEmbeddings {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			s.look(path+"."+k, k, v[k], depth+1)
		}
	case []any:
		if values := texts(v); key == "externalIPs" && len(values) > 0 {
			s.found = append(s.found, embedding{path, values})
			return
		}
		for i, item := range v {
			s.look(path+"["+strconv.Itoa(i)+"]", "", item, depth+1)
		}
	case string:
		s.values(path, v, depth)
	}
}

// texts are the non-empty texts of a list.
func texts(list []any) []string {
	var out []string
	for _, item := range list {
		if word, ok := item.(string); ok && strings.TrimSpace(word) != "" {
			out = append(out, word)
		}
	}
	return out
}

// values looks into a chart's values that are kept as one text (HelmChartConfig, Argo CD).
func (s *search) values(path, value string, depth int) {
	if len(value) > longestValues || !strings.Contains(value, "externalIPs") {
		return
	}
	var parsed any
	if yaml.Unmarshal([]byte(value), &parsed) == nil {
		if _, isText := parsed.(string); !isText {
			s.look(path, "", parsed, depth+1)
		}
	}
}
