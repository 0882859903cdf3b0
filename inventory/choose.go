package inventory

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"offramp.dev/api/v1alpha1"
)

// rule answers with a strategy and why, or with "" where it does not apply.
type rule func(w *world, g *group) (v1alpha1.Strategy, string)

// rules are tried in order; the first that answers decides. The last one always answers.
//
// A shared address alone joins nothing that moves: each entry point gets an address of its own, so Services that met on
// one old address need not agree on ports, keys or traffic policies any more.
func rules() []rule {
	return []rule{inert, served, mail, bakedIn, ownBalancer, nameless, selectorless, dataPlane, layerFour, routable, plain}
}

// choose decides how a group is served afterwards. A hint of the tenants goes before every rule but the first two, where
// it can be followed; it is a wish, the plan still needs a human's approval.
func (w *world) choose(g *group) choice {
	strategy, why := decide(w, g, rules())
	hint, object := g.hint()
	if hint == "" || hint == strategy || g.cleanUp() != "" {
		return choice{strategy: strategy, why: why, hint: hint}
	}
	if problem := w.refuses(g, hint); problem != "" {
		return choice{strategy: strategy, why: why, hintIgnored: fmt.Sprintf("%s asks for strategy %s, but %s.", object, quote(string(hint)),
			problem)}
	}
	return choice{strategy: hint, hint: hint, why: fmt.Sprintf("%s asks for it with annotation %s; without it: %s, because %s",
		object, v1alpha1.AnnotationStrategy, strategy, lowerFirst(why))}
}

func decide(w *world, g *group, list []rule) (v1alpha1.Strategy, string) {
	for _, r := range list {
		if strategy, why := r(w, g); strategy != "" {
			return strategy, why
		}
	}
	return "", ""
}

// hint is the wish of the first member that has one, and that member.
func (g *group) hint() (v1alpha1.Strategy, string) {
	for _, m := range g.members {
		if text := m.svc.Annotations[v1alpha1.AnnotationStrategy]; text != "" {
			return v1alpha1.Strategy(text), m.object()
		}
	}
	return "", ""
}

// refuses says why a hint cannot be followed, or "".
func (w *world) refuses(g *group, hint v1alpha1.Strategy) string {
	switch hint {
	case v1alpha1.StrategyAdopt:
		if problem := w.cannotAdopt(g); problem != "" {
			return problem
		}
	case v1alpha1.StrategyGateway:
		if problem := notRoutable(g); problem != "" {
			return problem
		}
	case v1alpha1.StrategyLoadBalancer:
		if i := slices.IndexFunc(g.members, isSelectorless); i >= 0 {
			return g.members[i].object() + " has no selector, so a second Service would have no endpoints"
		}
	case v1alpha1.StrategyNone:
		fallthrough
	default:
		return "the strategies are Gateway, LoadBalancer and Adopt"
	}
	if !permits(g.policy(), hint) {
		return "policy " + g.policyName() + " does not allow it"
	}
	return ""
}

func inert(_ *world, g *group) (v1alpha1.Strategy, string) {
	if g.cleanUp() == "" || g.members[0].redundant {
		return "", ""
	}
	return v1alpha1.StrategyNone, "Nothing moves: " + g.cleanUp() + "."
}

func served(_ *world, g *group) (v1alpha1.Strategy, string) {
	if g.cleanUp() == "" {
		return "", ""
	}
	return v1alpha1.StrategyNone, "Nothing moves: " + g.cleanUp() + "."
}

func mail(_ *world, g *group) (v1alpha1.Strategy, string) {
	if m, port := mailPort(g); m != nil {
		return v1alpha1.StrategyAdopt, fmt.Sprintf("%s serves mail on port %d: reverse DNS, SPF and reputation belong to the address, which "+
			"may not move.", m.object(), port)
	}
	return "", ""
}

func bakedIn(w *world, g *group) (v1alpha1.Strategy, string) {
	for _, m := range g.members {
		if own, ok := w.ownCarrier(m); ok {
			return v1alpha1.StrategyAdopt, fmt.Sprintf("%s is told its own address (%s of %s) and hands it on, so DNS does not move its clients.",
				m.object(), own.where, own.object)
		}
		if sign := bakedInSign(m.svc); sign != "" {
			return v1alpha1.StrategyAdopt, fmt.Sprintf("%s %s: such applications hand their own address to clients, so DNS does not move them.",
				m.object(), sign)
		}
	}
	return "", ""
}

// ownBalancer keeps a load balancer that works already.
func ownBalancer(_ *world, g *group) (v1alpha1.Strategy, string) {
	for _, m := range g.members {
		if m.svc.Spec.Type == corev1.ServiceTypeLoadBalancer && len(ingressAddresses(m.svc)) > 0 {
			return v1alpha1.StrategyLoadBalancer, fmt.Sprintf("%s already has a load balancer on %s.", m.object(), ingressText(m.svc))
		}
	}
	return "", ""
}

// nameless keeps the address where no name could move the clients, as long as it can be kept.
func nameless(w *world, g *group) (v1alpha1.Strategy, string) {
	if len(g.names()) > 0 || w.cannotAdopt(g) != "" || !permits(g.policy(), v1alpha1.StrategyAdopt) {
		return "", ""
	}
	return v1alpha1.StrategyAdopt, "No name leads to it, so DNS cannot move its clients; the address stays."
}

// selectorless keeps Services whose endpoints somebody else writes: a second Service would have none. A Gateway's route
// points at the Service itself, so it is no obstacle there.
func selectorless(w *world, g *group) (v1alpha1.Strategy, string) {
	i := slices.IndexFunc(g.members, isSelectorless)
	if i < 0 || w.cannotAdopt(g) != "" {
		return "", ""
	}
	if notRoutable(g) == "" && permits(g.policy(), v1alpha1.StrategyGateway) {
		return "", ""
	}
	return v1alpha1.StrategyAdopt, g.members[i].object() + " has no selector: a second Service would have no endpoints, so this one keeps " +
		"the address."
}

func dataPlane(_ *world, g *group) (v1alpha1.Strategy, string) {
	for _, m := range g.members {
		if sign := dataPlaneSign(m.svc); sign != "" {
			return v1alpha1.StrategyLoadBalancer, fmt.Sprintf("The Pods of %s are themselves an Ingress or Gateway data plane (%s).", m.object(),
				sign)
		}
	}
	return "", ""
}

func layerFour(_ *world, g *group) (v1alpha1.Strategy, string) {
	if problem := needsLayerFour(g); problem != "" {
		return v1alpha1.StrategyLoadBalancer, upperFirst(problem) + ", which a Gateway would lose."
	}
	return "", ""
}

// routable chooses a Gateway where every port is HTTP, gRPC or TLS with known names, or TCP where the policy asks for TCPRoutes.
func routable(_ *world, g *group) (v1alpha1.Strategy, string) {
	if notRoutable(g) != "" {
		return "", ""
	}
	if !permits(g.policy(), v1alpha1.StrategyGateway) {
		return v1alpha1.StrategyLoadBalancer, fmt.Sprintf("%s, but policy %s allows no Gateway.", portsSentence(g), g.policyName())
	}
	return v1alpha1.StrategyGateway, portsSentence(g) + "."
}

func plain(_ *world, g *group) (v1alpha1.Strategy, string) {
	return v1alpha1.StrategyLoadBalancer, upperFirst(notRoutable(g)) + ", so a load balancer passes it on as it is."
}

// needsLayerFour says what a proxy in between would lose, or "".
func needsLayerFour(g *group) string {
	for _, m := range g.members {
		for _, p := range m.svc.Spec.Ports {
			if k := KindOf(p, nil); k == PortUDP || k == PortSCTP {
				return fmt.Sprintf("%s has the %s port %d", m.object(), k, p.Port)
			}
		}
		if m.svc.Spec.SessionAffinity == corev1.ServiceAffinityClientIP {
			return m.object() + " has session affinity by client address"
		}
		if isLocal(m) {
			return m.object() + " has externalTrafficPolicy Local: its Pods see the client's address"
		}
	}
	return ""
}

// notRoutable says why a Gateway cannot serve the group, or "".
func notRoutable(g *group) string {
	if problem := needsLayerFour(g); problem != "" {
		return problem
	}
	var httpPorts []int32
	tcpRoutes := false
	if p := g.policy(); p != nil && p.Spec.Gateway != nil {
		httpPorts, tcpRoutes = p.Spec.Gateway.HTTPPorts, p.Spec.Gateway.TCPRoutes
	}
	named := len(g.names()) > 0
	for _, m := range g.members {
		if len(m.svc.Spec.Ports) == 0 {
			return m.object() + " has no port"
		}
		for _, p := range m.svc.Spec.Ports {
			switch kind := KindOf(p, httpPorts); {
			case kind == PortTLS && !named:
				return fmt.Sprintf("port %d of %s is TLS, and no name is known to route it by", p.Port, m.object())
			case kind == PortTCP && !tcpRoutes:
				return fmt.Sprintf("nothing proves that port %d of %s speaks HTTP or TLS (no appProtocol)", p.Port, m.object())
			}
		}
	}
	return ""
}

func portsSentence(g *group) string {
	kinds := map[PortKind]bool{}
	var httpPorts []int32
	if p := g.policy(); p != nil && p.Spec.Gateway != nil {
		httpPorts = p.Spec.Gateway.HTTPPorts
	}
	for _, m := range g.members {
		for _, p := range m.svc.Spec.Ports {
			kinds[KindOf(p, httpPorts)] = true
		}
	}
	var parts []string
	for _, k := range []struct {
		kind PortKind
		text string
	}{{PortHTTP, "HTTP (HTTPRoute)"}, {PortTLS, "TLS with known names (TLSRoute, passthrough)"}, {
		PortTCP,
		"TCP as the policy asks (TCPRoute)",
	}} {
		if kinds[k.kind] {
			parts = append(parts, k.text)
		}
	}
	return "Every port is " + strings.Join(parts, " or ")
}

// permits tells whether the policy allows the strategy. Without a policy everything may be recommended.
func permits(p *v1alpha1.MigrationPolicy, s v1alpha1.Strategy) bool {
	if p == nil {
		return true
	}
	if s == v1alpha1.StrategyGateway && p.Spec.Gateway == nil {
		return false
	}
	return len(p.Spec.Strategies) == 0 || slices.Contains(p.Spec.Strategies, s)
}

// cannotAdopt says why the addresses cannot stay, or "".
func (w *world) cannotAdopt(g *group) string {
	for _, a := range g.addresses() {
		if b := w.forbidden(a); b.reason != "" {
			return strings.TrimSuffix(b.message, ".")
		}
		if problem := w.stolenByIPVS(a); problem != "" {
			return problem
		}
	}
	return ""
}

// stolenByIPVS: in ipvs mode the proxy binds a load balancer address to every node, which takes a node's own address away
// from it.
func (w *world) stolenByIPVS(a netip.Addr) string {
	n, ok := w.nodes[a]
	if !ok || w.proxyMode != v1alpha1.ProxyIPVS {
		return ""
	}
	return fmt.Sprintf("%s is an address of node %s, which kube-proxy in ipvs mode would bind to every node", a, n.name)
}

func ingressText(svc *corev1.Service) string {
	var texts []string
	for _, a := range ingressAddresses(svc) {
		texts = append(texts, a.String())
	}
	return some(texts)
}
