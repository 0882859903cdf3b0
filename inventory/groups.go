package inventory

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"offramp.dev/api/v1alpha1"
)

// group is an entry point in the making: members in order of their keys, none of them twice.
type group struct {
	members []*member
	choice  choice
}

// choice is the strategy and the sentence that says why.
type choice struct {
	strategy v1alpha1.Strategy
	why      string
	// hint is what the members ask for, if it is followed.
	hint v1alpha1.Strategy
	// hintIgnored says why the members' hint could not be followed, or "".
	hintIgnored string
}

// groups joins members by name, and by address only where both keep the address. A name that moves takes everything
// behind it along; an address that stays need not move together with its other ports, but adopting it is one decision.
// A field that can simply go joins nothing.
func (w *world) groups(members []*member) []*group {
	byName := newForest(len(members))
	owner := map[string]int{}
	for i, m := range members {
		for _, name := range m.names {
			if j, ok := owner[name]; ok {
				byName.join(i, j)
			} else {
				owner[name] = i
			}
		}
	}
	named := collectGroups(byName, members)
	for _, g := range named {
		g.choice = w.choose(g)
	}
	return w.joinAdopted(named)
}

func (w *world) joinAdopted(groups []*group) []*group {
	byAddress := newForest(len(groups))
	owner := map[netip.Addr]int{}
	for i, g := range groups {
		if g.choice.strategy != v1alpha1.StrategyAdopt {
			continue
		}
		for _, m := range g.members {
			for _, a := range m.addresses {
				if j, ok := owner[a]; ok {
					byAddress.join(i, j)
				} else {
					owner[a] = i
				}
			}
		}
	}
	var out []*group
	for _, part := range byAddress.parts() {
		joined := groups[part[0]]
		for _, i := range part[1:] {
			joined.members = append(joined.members, groups[i].members...)
		}
		slices.SortFunc(joined.members, func(a, b *member) int { return strings.Compare(a.key, b.key) })
		out = append(out, joined)
	}
	return out
}

func collectGroups(f forest, members []*member) []*group {
	var out []*group
	for _, part := range f.parts() {
		g := &group{}
		for _, i := range part {
			g.members = append(g.members, members[i])
		}
		out = append(out, g)
	}
	return out
}

// forest is a union-find over indexes.
type forest []int

func newForest(n int) forest {
	f := make(forest, n)
	for i := range f {
		f[i] = i
	}
	return f
}

func (f forest) root(i int) int {
	for f[i] != i {
		f[i] = f[f[i]]
		i = f[i]
	}
	return i
}

// join makes the smaller root the root of both, so that the result does not depend on the order of joins.
func (f forest) join(i, j int) {
	a, b := f.root(i), f.root(j)
	f[max(a, b)] = min(a, b)
}

// parts are the sets, each sorted, ordered by their first index.
func (f forest) parts() [][]int {
	at := map[int]int{}
	var out [][]int
	for i := range f {
		r := f.root(i)
		if _, ok := at[r]; !ok {
			at[r] = len(out)
			out = append(out, nil)
		}
		out[at[r]] = append(out[at[r]], i)
	}
	return out
}

func (g *group) keys() []string {
	out := make([]string, 0, len(g.members))
	for _, m := range g.members {
		out = append(out, m.key)
	}
	return out
}

// cleanUp says why the field can simply go, or "". Such members are alone in their group.
func (g *group) cleanUp() string { return g.members[0].cleanUp }

// addresses are those that carry traffic, sorted.
func (g *group) addresses() []netip.Addr {
	all := map[netip.Addr]bool{}
	for _, m := range g.members {
		maps.Copy(all, m.set)
	}
	return slices.SortedFunc(maps.Keys(all), netip.Addr.Compare)
}

// addressTexts are all values, also those that carry no traffic: canonical and in order of addresses, then what is none.
func (g *group) addressTexts() []string {
	all := map[netip.Addr]bool{}
	var bad []string
	for _, m := range g.members {
		for _, v := range m.values {
			if v.err != nil {
				bad = append(bad, v.text)
			} else {
				all[v.addr] = true
			}
		}
	}
	out := make([]string, 0, len(all)+len(bad))
	for _, a := range slices.SortedFunc(maps.Keys(all), netip.Addr.Compare) {
		out = append(out, a.String())
	}
	slices.Sort(bad)
	return append(out, slices.Compact(bad)...)
}

func (g *group) portTexts() []string {
	if len(g.members) == 1 {
		return g.members[0].ports
	}
	services := make([]*corev1.Service, 0, len(g.members))
	for _, m := range g.members {
		services = append(services, m.svc)
	}
	return sortedPorts(services...)
}

func (g *group) names() []string {
	var out []string
	for _, m := range g.members {
		out = append(out, m.names...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// policyName is the first one that a member opted into; where others differ, a finding says so.
func (g *group) policyName() string {
	for _, m := range g.members {
		if name := m.svc.Annotations[v1alpha1.AnnotationPolicy]; name != "" {
			return name
		}
	}
	return ""
}

// policy is the object behind policyName, or nil.
func (g *group) policy() *v1alpha1.MigrationPolicy {
	for _, m := range g.members {
		if m.svc.Annotations[v1alpha1.AnnotationPolicy] != "" {
			return m.policy
		}
	}
	return nil
}
