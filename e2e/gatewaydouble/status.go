package gatewaydouble

import (
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// outcome is what became of a view: why ports could not be listened on, and why Services could not be written.
type outcome struct {
	ports    map[uint16]error
	services map[*served]error
}

// say sets a condition: True with the reason, or False with the verdict.
func say(list *[]metav1.Condition, kind, reason string, v verdict, generation int64) {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, ObservedGeneration: generation}
	if !v.good() {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v.reason, v.message
	}
	meta.SetStatusCondition(list, c)
}

func (c *class) status() gatewayv1.GatewayClassStatus {
	out := *c.object.Status.DeepCopy()
	accepted := string(gatewayv1.GatewayClassConditionStatusAccepted)
	say(&out.Conditions, accepted, accepted, c.refused, c.object.Generation)
	return out
}

// status is the Gateway's. A condition's time stays while the condition does.
func (g *served) status(done outcome) gatewayv1.GatewayStatus {
	out := gatewayv1.GatewayStatus{Conditions: slices.Clone(g.Status.Conditions), Addresses: g.addresses()}
	g.sayAccepted(&out.Conditions)
	programmed := string(gatewayv1.GatewayConditionProgrammed)
	say(&out.Conditions, programmed, programmed, g.notProgrammed(done), g.Generation)
	for _, l := range g.listeners {
		out.Listeners = append(out.Listeners, g.listenerStatus(l, done))
	}
	return out
}

// sayAccepted: a Gateway with one valid listener is accepted, and says so when others are not.
func (g *served) sayAccepted(list *[]metav1.Condition) {
	valid := len(filter(g.listeners, (*listener).valid))
	notValid := string(gatewayv1.GatewayReasonListenersNotValid)
	reason, refused := string(gatewayv1.GatewayReasonAccepted), g.refused
	switch {
	case !refused.good():
	case valid == 0:
		refused = verdict{notValid, "no listener is valid"}
	case valid < len(g.listeners):
		reason = notValid
	}
	say(list, string(gatewayv1.GatewayConditionAccepted), reason, refused, g.Generation)
}

// addresses are what the Gateway is reported to have: what the load balancer gave, unless the class misbehaves.
func (g *served) addresses() []gatewayv1.GatewayStatusAddress {
	if g.service == nil || !g.provisioned() {
		return nil
	}
	out := []gatewayv1.GatewayStatusAddress{}
	ip, hostname := gatewayv1.IPAddressType, gatewayv1.HostnameAddressType
	if g.mode == ExternalIPs {
		for _, text := range g.service.Spec.ExternalIPs {
			out = append(out, gatewayv1.GatewayStatusAddress{Type: &ip, Value: text})
		}
		return out
	}
	for _, in := range g.service.Status.LoadBalancer.Ingress {
		if in.IP != "" {
			out = append(out, gatewayv1.GatewayStatusAddress{Type: &ip, Value: in.IP})
		} else {
			out = append(out, gatewayv1.GatewayStatusAddress{Type: &hostname, Value: in.Hostname})
		}
	}
	return out
}

// notProgrammed is why the Gateway carries no traffic yet.
func (g *served) notProgrammed(done outcome) verdict {
	valid := filter(g.listeners, (*listener).valid)
	has := g.addresses()
	invalid := string(gatewayv1.GatewayReasonInvalid)
	switch err := done.services[g]; {
	case !g.refused.good():
		return verdict{invalid, g.refused.message}
	case len(valid) == 0:
		return verdict{invalid, "no listener is valid"}
	case g.mode == NoAddress:
		return verdict{}
	case err != nil:
		return verdict{invalid, err.Error()}
	case len(has) == 0:
		return verdict{string(gatewayv1.GatewayReasonAddressNotAssigned), "Service " + serviceName(g.Name) + " has no address yet"}
	case !g.holds(has):
		return verdict{string(gatewayv1.GatewayReasonAddressNotUsable), fmt.Sprintf("spec.addresses %v: they were not all assigned", g.asked())}
	}
	for _, l := range valid {
		if v := g.notServed(l, done); !v.good() {
			return verdict{string(gatewayv1.GatewayReasonPending), "listener " + string(l.spec.Name) + ": " + v.message}
		}
	}
	return verdict{}
}

// holds tells whether all addresses of spec.addresses were assigned. The double verifies them, as Cilium does; it asks for
// addresses by the annotation only.
func (g *served) holds(has []gatewayv1.GatewayStatusAddress) bool {
	texts := []string{}
	for _, a := range has {
		texts = append(texts, a.Value)
	}
	assigned := addresses(texts)
	return !slices.ContainsFunc(g.asked(), func(a netip.Addr) bool { return !slices.Contains(assigned, a) })
}

// notServed is why the data plane does not serve a listener.
func (g *served) notServed(l *listener, done outcome) verdict {
	switch {
	case !g.refused.good():
		return verdict{string(gatewayv1.ListenerReasonInvalid), g.refused.message}
	case !l.valid():
		return verdict{string(gatewayv1.ListenerReasonInvalid), "the listener is not valid"}
	case g.mode == NoAddress:
		return verdict{}
	case l.port == 0:
		return verdict{string(gatewayv1.ListenerReasonPending), "the Service has no target port for it yet"}
	case done.ports[l.port] != nil:
		return verdict{string(gatewayv1.ListenerReasonInvalid), done.ports[l.port].Error()}
	}
	return verdict{}
}

func (g *served) listenerStatus(l *listener, done outcome) gatewayv1.ListenerStatus {
	out := gatewayv1.ListenerStatus{Name: l.spec.Name, SupportedKinds: groupKinds(l.kinds)}
	for i, old := range g.Status.Listeners {
		if old.Name == l.spec.Name {
			out.Conditions = slices.Clone(g.Status.Listeners[i].Conditions)
		}
	}
	for range l.attached {
		out.AttachedRoutes++
	}
	refused := l.refused
	if refused.good() {
		refused = l.conflict
	}
	accepted, programmed := string(gatewayv1.ListenerConditionAccepted), string(gatewayv1.ListenerConditionProgrammed)
	resolved := string(gatewayv1.ListenerConditionResolvedRefs)
	say(&out.Conditions, accepted, accepted, refused, g.Generation)
	say(&out.Conditions, programmed, programmed, g.notServed(l, done), g.Generation)
	say(&out.Conditions, resolved, resolved, l.refs, g.Generation)
	meta.SetStatusCondition(&out.Conditions, conflicted(l.conflict, g.Generation))
	return out
}

// conflicted is the one condition that is bad when it is True.
func conflicted(v verdict, generation int64) metav1.Condition {
	c := metav1.Condition{
		Type: string(gatewayv1.ListenerConditionConflicted), Status: metav1.ConditionFalse,
		Reason: string(gatewayv1.ListenerReasonNoConflicts), ObservedGeneration: generation,
	}
	if !v.good() {
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, v.reason, v.message
	}
	return c
}

func groupKinds(kinds []string) []gatewayv1.RouteGroupKind {
	group := gatewayv1.Group(gatewayv1.GroupName)
	out := []gatewayv1.RouteGroupKind{}
	for _, k := range kinds {
		out = append(out, gatewayv1.RouteGroupKind{Group: &group, Kind: gatewayv1.Kind(k)})
	}
	return out
}

// parentStatuses are the route's: what other controllers say stays, what we said of parents that it has no more goes.
func (v *view) parentStatuses(r *route, answers []answer) []gatewayv1.RouteParentStatus {
	out := []gatewayv1.RouteParentStatus{}
	for _, p := range r.status.Parents {
		if p.ControllerName != ControllerName {
			out = append(out, *p.DeepCopy())
		}
	}
	for _, a := range answers {
		s := gatewayv1.RouteParentStatus{ParentRef: *a.ref.DeepCopy(), ControllerName: ControllerName}
		s.Conditions = conditionsOf(r, a.ref)
		accepted, resolved := string(gatewayv1.RouteConditionAccepted), string(gatewayv1.RouteConditionResolvedRefs)
		say(&s.Conditions, accepted, accepted, a.refused, r.GetGeneration())
		say(&s.Conditions, resolved, resolved, v.resolves(r), r.GetGeneration())
		out = append(out, s)
	}
	return out
}

func conditionsOf(r *route, ref gatewayv1.ParentReference) []metav1.Condition {
	for _, p := range r.status.Parents {
		if p.ControllerName == ControllerName && equal(p.ParentRef, ref) {
			return slices.Clone(p.Conditions)
		}
	}
	return nil
}
