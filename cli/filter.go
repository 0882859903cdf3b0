package cli

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"offramp.dev/inventory"
)

// filter chooses entry points by their members. What is looked at stays whole: an address may be shared with a Service
// that was not asked for.
type filter struct {
	namespace string
	selector  labels.Selector
}

func (f filter) all() bool { return f.namespace == "" && f.selector.Empty() }

func (f filter) matches(namespace string, set labels.Set) bool {
	return (f.namespace == "" || namespace == f.namespace) && f.selector.Matches(set)
}

// apply keeps the entry points with at least one chosen member, and counts again.
func (f filter) apply(catalog inventory.Catalog, c *collection) inventory.Catalog {
	if f.all() {
		return catalog
	}
	chosen, summary := map[string]bool{}, inventory.Summary{}
	for _, s := range c.Services {
		if !f.matches(s.Namespace, s.Labels) {
			continue
		}
		chosen[s.Namespace+"/"+s.Name] = true
		summary.Services++
		if len(s.Spec.ExternalIPs) > 0 {
			summary.WithExternalIPs++
		}
	}
	for _, u := range c.unreadable {
		if f.matches(u.namespace, u.labels) {
			chosen[u.key()] = true
			summary.Services++
			summary.WithExternalIPs++
		}
	}
	catalog.EntryPoints = slices.DeleteFunc(slices.Clone(catalog.EntryPoints), func(e inventory.EntryPoint) bool {
		return !slices.ContainsFunc(e.Services, func(name string) bool { return chosen[name] })
	})
	summary.EntryPoints = len(catalog.EntryPoints)
	catalog.Summary = summary
	return catalog
}
