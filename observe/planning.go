package observe

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sort"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
	"offramp.dev/gateway"
	"offramp.dev/inventory"
	"offramp.dev/migration"
)

// plan makes the plan of now, the inventory's word on the members, and what blocks them.
func (l *Looker) plan(ctx context.Context, w *World, f *migration.Facts) {
	if w.Policy == nil {
		f.Blockers = append(f.Blockers, policyMissing(w.EntryPoint))
		w.Entry.Findings = f.Blockers
		f.LiveProblem = "the MigrationPolicy " + w.EntryPoint.Spec.Policy + " does not exist"
		return
	}
	walk := walking(*f)
	services, missing := before(w, walk.Snapshot)
	if missing != "" {
		f.LiveProblem = "Service " + missing + " does not exist"
		return
	}
	names, live, problem := l.planNames(ctx, w, services, walk.Snapshot)
	w.Entry = l.entry(ctx, w, services, live)
	if problem != "" {
		f.LiveProblem = problem
		f.Blockers = unanswered(w.Entry.Findings, f.Intent)
		return
	}
	in := l.planInput(ctx, w, services, names, frozen(walk))
	plan, more, err := l.makePlan(ctx, w, in)
	if err != nil {
		f.LiveProblem = err.Error()
		f.Blockers = unanswered(w.Entry.Findings, f.Intent)
		return
	}
	w.Entry.Findings = append(w.Entry.Findings, more...)
	f.Live, f.Blockers = plan, unanswered(w.Entry.Findings, f.Intent)
	if plan == nil {
		f.LiveProblem = problemOf(more)
	}
	if joined := joiner(w); joined != "" && len(walk.Plans) > 0 {
		change := groupChanged(w.EntryPoint, joined)
		w.Entry.Findings = append(w.Entry.Findings, change)
		f.Live, f.LiveProblem, f.LiveReason = nil, change.Message, migration.ReasonGroupChanged
	}
}

// walking is the record of the walk that is under way: an undone one is over as soon as the attempt has grown past it.
func walking(f migration.Facts) migration.Record {
	for _, s := range slices.Backward(f.Record.Stamps) {
		if s.Kind == v1alpha1.StampUndone {
			if s.Attempt < f.Attempt() {
				return migration.Record{}
			}
			break
		}
	}
	return f.Record
}

func policyMissing(ep *v1alpha1.EntryPoint) v1alpha1.Finding {
	return v1alpha1.Finding{
		Reason: inventory.ReasonPolicyMissing, Severity: v1alpha1.SeverityBlock, Object: "EntryPoint " + ep.Name + " spec.policy",
		Message: fmt.Sprintf("The MigrationPolicy %q does not exist.", ep.Spec.Policy),
		Fix:     "create the MigrationPolicy, or name an existing one in the annotation " + v1alpha1.AnnotationPolicy,
	}
}

// before are the members as they were before the walk, in order; missing names the first that is gone.
func before(w *World, s *migration.Snapshot) (services []*corev1.Service, missing string) {
	for _, m := range w.EntryPoint.Spec.Members {
		svc, ok := w.Services[m.Namespace+"/"+m.Name]
		if !ok {
			return nil, m.Namespace + "/" + m.Name
		}
		services = append(services, migration.Before(svc, s))
	}
	return services, ""
}

// joiner names a Service that opted in and belongs to the group, though it is no member: membership is frozen.
func joiner(w *World) string {
	for _, key := range w.Entry.Services {
		if _, member := w.Services[key]; member {
			continue
		}
		for i := range w.services {
			s := &w.services[i]
			if s.Namespace+"/"+s.Name == key && s.Annotations[v1alpha1.AnnotationPolicy] != "" {
				return key
			}
		}
	}
	return ""
}

func groupChanged(ep *v1alpha1.EntryPoint, joined string) v1alpha1.Finding {
	return v1alpha1.Finding{
		Reason: inventory.ReasonGroupChanged, Severity: v1alpha1.SeverityAsk, Object: "EntryPoint " + ep.Name + " spec.members",
		Message: fmt.Sprintf("Service %s joined the group after the membership was recorded; the walk holds.", joined),
		Fix: "take the annotation " + v1alpha1.AnnotationPolicy + " off Service " + joined + " until this walk has ended, or go back and " +
			"let both move together in a new one",
	}
}

// unanswered are the findings that hold the walk before its first record: what blocks, and what asks until a human has
// answered by a waiver of the gate Eligible.
func unanswered(findings []v1alpha1.Finding, in migration.Intent) []v1alpha1.Finding {
	out := blocking(findings)
	if _, answered := in.Waived[migration.GateEligible]; !answered {
		return out
	}
	return slices.DeleteFunc(out, func(f v1alpha1.Finding) bool { return f.Severity == v1alpha1.SeverityAsk })
}

func blocking(findings []v1alpha1.Finding) []v1alpha1.Finding {
	var out []v1alpha1.Finding
	for _, f := range findings {
		if f.Severity == v1alpha1.SeverityBlock || f.Severity == v1alpha1.SeverityAsk {
			out = append(out, f)
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		return out[i].Severity == v1alpha1.SeverityBlock && out[j].Severity != v1alpha1.SeverityBlock
	})
	return out
}

func problemOf(findings []v1alpha1.Finding) string {
	if b := blocking(findings); len(b) > 0 {
		return b[0].Message
	}
	return "no plan can be made"
}

func (l *Looker) planInput(
	ctx context.Context, w *World, services []*corev1.Service, names []dnsctl.Name, fixed *migration.Plan,
) migration.PlanInput {
	in := migration.PlanInput{
		EntryPoint: w.EntryPoint, Policy: w.Policy, Services: services, Names: names, Pools: w.pools, Frozen: fixed,
		Strategy: w.Entry.Strategy, Why: w.Entry.Why, Ledger: addresspool.Rows(w.Claims), Uses: uses(w),
		TCPRouteVersion: l.tcpRouteVersion(),
	}
	if fixed != nil {
		in.Strategy, in.Why = fixed.Strategy, fixed.Why
	}
	if s := w.EntryPoint.Spec.Strategy; s != "" && s != in.Strategy {
		in.Strategy, in.Why = s, "spec.strategy of the EntryPoint asks for it"
	}
	if in.Strategy == v1alpha1.StrategyGateway {
		l.readClass(ctx, w, &in)
	}
	return in
}

// readClass fills in what is known of the policy's GatewayClass; an unknown one is left empty and MakePlan says so.
func (l *Looker) readClass(ctx context.Context, w *World, in *migration.PlanInput) {
	g := w.Policy.Spec.Gateway
	if g == nil {
		return
	}
	var class gatewayv1.GatewayClass
	if err := l.Cached.Get(ctx, keyOf("", g.ClassName), &class); err != nil {
		return
	}
	if profile, known := gateway.ProfileFor(string(class.Spec.ControllerName), g); known {
		in.Profile = profile
	}
	in.Profile.ControllerName = string(class.Spec.ControllerName)
	if g.StaticService != nil {
		var s corev1.Service
		if err := l.Cached.Get(ctx, keyOf(g.StaticService.Namespace, g.StaticService.Name), &s); err == nil {
			in.StaticAddresses, in.Profile.Ports = ingress(&s), tcpPorts(&s)
		}
	}
}

// tcpPorts are the ports that the static Service has; routes are for TCP alone.
func tcpPorts(s *corev1.Service) []int32 {
	var out []int32
	for _, p := range s.Spec.Ports {
		if p.Protocol == corev1.ProtocolTCP || p.Protocol == "" {
			out = append(out, p.Port)
		}
	}
	return out
}

// tcpRouteVersion is the served version of TCPRoute, v1 first.
func (l *Looker) tcpRouteVersion() string {
	for _, v := range []string{"v1", "v1alpha2"} {
		if l.serves(schema.GroupVersionKind{Group: gatewayv1.GroupName, Version: v, Kind: "TCPRoute"}) {
			return v
		}
	}
	return ""
}

// uses are the present uses of addresses by Services and Nodes that are not of this entry point. A static Service is one
// of them: it holds its address for those whose plan names it as the holder, and stands in everybody else's way.
func uses(w *World) []addresspool.Use {
	var out []addresspool.Use
	label := gateway.Label(w.EntryPoint.Name)
	for i := range w.services {
		s := &w.services[i]
		_, member := w.Services[s.Namespace+"/"+s.Name]
		if member || s.Labels[v1alpha1.LabelEntryPoint] == label || generated(w, s) {
			continue
		}
		out = append(out, usesOf(s)...)
	}
	for i := range w.nodes {
		for _, a := range w.nodes[i].Status.Addresses {
			if addr, err := netip.ParseAddr(a.Address); err == nil {
				out = append(out, addresspool.Use{Address: addr, Object: "Node " + w.nodes[i].Name})
			}
		}
	}
	return out
}

func usesOf(s *corev1.Service) []addresspool.Use {
	var ports []string
	for _, p := range s.Spec.Ports {
		ports = append(ports, fmt.Sprintf("%s/%d", p.Protocol, p.Port))
	}
	var out []addresspool.Use
	seen := map[netip.Addr]bool{}
	for _, text := range carried(s) {
		if a, _, err := addresspool.Canonical(text); err == nil && !seen[a] {
			seen[a] = true
			out = append(out, addresspool.Use{Address: a, Object: "Service " + s.Namespace + "/" + s.Name, Ports: ports})
		}
	}
	return out
}

// ofGateway tells whether s is behind our Gateway: generated for it, or the policy's static Service.
func ofGateway(w *World, s *corev1.Service) bool {
	if w.Policy == nil || w.Policy.Spec.Gateway == nil {
		return false
	}
	static := w.Policy.Spec.Gateway.StaticService
	return static != nil && static.Namespace == s.Namespace && static.Name == s.Name || generated(w, s)
}

// generated tells whether s is what an implementation generated for our Gateway.
func generated(w *World, s *corev1.Service) bool {
	if w.Policy == nil || w.Policy.Spec.Gateway == nil {
		return false
	}
	g := w.Policy.Spec.Gateway
	name := gateway.Name(w.EntryPoint.Name)
	// Envoy Gateway makes its Service in a namespace of its own and says so in labels of its own.
	if s.Labels["gateway.envoyproxy.io/owning-gateway-name"] == name && s.Labels["gateway.envoyproxy.io/owning-gateway-namespace"] == g.Namespace {
		return true
	}
	return s.Namespace == g.Namespace && s.Labels["gateway.networking.k8s.io/gateway-name"] == name
}
