package inventory

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
)

// checkOptIn judges what the members opted into.
func (w *world) checkOptIn(c *collector, g *group) {
	policy := g.policyName()
	if policy == "" {
		return
	}
	var out, other []string
	for _, m := range g.members {
		switch m.svc.Annotations[v1alpha1.AnnotationPolicy] {
		case policy:
		case "":
			out = append(out, m.key)
		default:
			other = append(other, m.key)
		}
	}
	if len(out) > 0 {
		c.add(ReasonMembersIncomplete, ask, "", "Part of the entry point, but not opted in: "+some(out)+".",
			fmt.Sprintf("Annotate them %s: %s, or leave them out in spec.members of the EntryPoint.", v1alpha1.AnnotationPolicy, policy))
	}
	if len(other) > 0 {
		c.add(ReasonPoliciesDiffer, block, "metadata.annotations["+v1alpha1.AnnotationPolicy+"]",
			fmt.Sprintf("Opted into another policy than %s: %s.", quote(policy), some(other)),
			"Annotate all members with one policy.")
	}
}

// checkPolicy holds the group against its policy.
func (w *world) checkPolicy(c *collector, g *group) {
	name, policy := g.policyName(), g.policy()
	const field = "metadata.annotations[" + v1alpha1.AnnotationPolicy + "]"
	if name == "" || !w.policiesSeen {
		return
	}
	if policy == nil {
		c.add(ReasonPolicyMissing, block, field, fmt.Sprintf("MigrationPolicy %s does not exist.", quote(name)),
			"Create it, or name one that exists.")
		return
	}
	for _, m := range g.members {
		if ns, _, _ := strings.Cut(m.key, "/"); !slices.Contains(policy.Spec.Namespaces, ns) {
			c.add(ReasonPolicyForbidsNamespace, block, field, fmt.Sprintf("MigrationPolicy %s does not list namespace %s of %s.", name, ns,
				m.object()),
				"An admin adds the namespace to spec.namespaces, or the Service names another policy.")
		}
	}
	if g.cleanUp() != "" {
		return
	}
	if !permits(policy, g.choice.strategy) {
		c.add(ReasonPolicyForbidsStrategy, block, field, fmt.Sprintf("MigrationPolicy %s does not allow strategy %s.", name, g.choice.strategy),
			"An admin adds it to spec.strategies (Gateway needs spec.gateway too), or the Service asks for another one with "+
				""+v1alpha1.AnnotationStrategy+".")
		return
	}
	w.checkPools(c, g, policy)
}

// poolView is a pool with what speaks against it.
type poolView struct {
	addresspool.Pool
	touching []addresspool.Conflict
}

func viewPools(pools []addresspool.Pool, reserved []addresspool.Reserved) []poolView {
	var out []poolView
	for _, p := range pools {
		out = append(out, poolView{p, addresspool.Touching(p, reserved)})
	}
	slices.SortFunc(out, func(a, b poolView) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return out
}

// problem says why the pool cannot serve a namespace, or "".
func (p poolView) problem(namespace string) string {
	switch {
	case p.Unreadable != "":
		return "cannot be judged: " + p.Unreadable
	case len(p.Announcers) == 0:
		return "is announced by nobody"
	case len(p.touching) > 0:
		return "touches " + p.touching[0].Address.String() + " of " + p.touching[0].Object
	case !p.Allows(namespace):
		return "does not serve namespace " + namespace
	}
	return ""
}

// checkPools finds a pool for groups that need a new address.
func (w *world) checkPools(c *collector, g *group, policy *v1alpha1.MigrationPolicy) {
	if g.choice.strategy == v1alpha1.StrategyAdopt || g.hasBalancer() {
		return
	}
	const field = "metadata.annotations[" + v1alpha1.AnnotationPolicy + "]"
	if len(policy.Spec.Pools) == 0 {
		c.add(ReasonPoolMissing, block, field, fmt.Sprintf("MigrationPolicy %s names no pool for new addresses.", policy.Name),
			"An admin adds one to spec.pools.")
		return
	}
	if !w.poolsSeen {
		return
	}
	namespace, _, _ := strings.Cut(g.members[0].key, "/")
	if g.choice.strategy == v1alpha1.StrategyGateway {
		namespace = policy.Spec.Gateway.Namespace
	}
	var missing, unusable []string
	for _, name := range policy.Spec.Pools {
		i := slices.IndexFunc(w.pools, func(p poolView) bool { return p.Name == name })
		if i < 0 {
			missing = append(missing, name)
		} else if problem := w.pools[i].problem(namespace); problem != "" {
			unusable = append(unusable, name+" "+problem)
		}
	}
	switch len(policy.Spec.Pools) {
	case len(missing):
		c.add(ReasonPoolMissing, block, field, fmt.Sprintf("No pool of MigrationPolicy %s exists: %s.", policy.Name, some(missing)),
			"An admin creates the pool, or names one that exists.")
	case len(missing) + len(unusable):
		c.add(ReasonPoolUnusable, block, field, fmt.Sprintf("No pool of MigrationPolicy %s can serve it: %s.", policy.Name, some(unusable)),
			"An admin corrects the pool or its advertisements.")
	}
}

// hasBalancer tells that the group is served by a load balancer of its own already.
func (g *group) hasBalancer() bool {
	return slices.ContainsFunc(g.members, func(m *member) bool {
		return m.svc.Spec.Type == corev1.ServiceTypeLoadBalancer && len(ingressAddresses(m.svc)) > 0
	})
}

// checkAnnouncers judges whether new addresses could be served at all.
func (w *world) checkAnnouncers(c *collector, g *group) {
	if g.choice.strategy != v1alpha1.StrategyGateway && g.choice.strategy != v1alpha1.StrategyLoadBalancer || g.hasBalancer() {
		return
	}
	if w.noAnnouncer {
		c.add(ReasonNoEligibleAnnouncer, block, "", "Every node carries label node.kubernetes.io/exclude-from-external-load-balancers, so "+
			"nobody announces a new address.",
			"Remove the label from a node, or run MetalLB's speakers with --ignore-exclude-lb.")
	}
	if w.serviceLB != "" {
		c.add(ReasonServiceLBActive, block, "", "k3s ServiceLB serves "+w.serviceLB+" and would take the new Service as well.",
			"Start k3s with --disable servicelb, or give MetalLB a class of its own.")
	}
}
