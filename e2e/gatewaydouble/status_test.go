package gatewaydouble

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

func specAddress(value string) gatewayv1.GatewaySpecAddress {
	return gatewayv1.GatewaySpecAddress{Type: new(gatewayv1.IPAddressType), Value: value}
}

func classOf(b *bed, name string) *gatewayv1.GatewayClass {
	b.Helper()
	c := &gatewayv1.GatewayClass{}
	b.read(c, "", name)
	return c
}

func (b *bed) programmed(want string) {
	b.Helper()
	if got := condition(b.gateway("edge").Status.Conditions, "Programmed", 3); got != want {
		b.Errorf("Programmed: got %s, want %s", got, want)
	}
}

func TestAGatewayIsProgrammedOnceItHasAnAddressAndNotBefore(t *testing.T) {
	t.Parallel()
	b := newBed(t, gatewayOf("double", "edge", listen("web", 80, "HTTP")))
	b.sync()
	b.programmed("False AddressNotAssigned")
	b.metallb()
	b.sync()
	b.programmed("True Programmed")
	if got := condition(b.gateway("edge").Status.Conditions, "Accepted", 3); got != "True Accepted" {
		t.Errorf("got %s", got)
	}
	if a := b.gateway("edge").Status.Addresses; len(a) != 1 || a[0].Value != pinned {
		t.Errorf("got %v", a)
	}
}

func TestAddressesThatWereNotAssignedAreNotProgrammed(t *testing.T) {
	t.Parallel()
	g := gatewayOf("double", "edge", listen("web", 80, "HTTP"))
	g.Spec.Addresses = append(g.Spec.Addresses, specAddress("198.51.100.99"))
	b := newBed(t, g)
	b.sync()
	b.metallb()
	b.sync()
	b.programmed("False AddressNotUsable")
}

func TestOnlyGatewaysOfOurClassesAreTouched(t *testing.T) {
	t.Parallel()
	other := &gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: "traefik"}}
	other.Spec.ControllerName = "traefik.io/gateway-controller"
	b := newBed(t, other, gatewayOf("traefik", "edge", listen("web", 80, "HTTP")))
	b.sync()
	if g, c := b.gateway("edge"), classOf(b, "traefik"); len(g.Status.Conditions) > 0 || len(c.Status.Conditions) > 0 {
		t.Errorf("got %+v %+v", g.Status, c.Status)
	}
	if c := classOf(b, "double"); condition(c.Status.Conditions, "Accepted", 0) != "True Accepted" {
		t.Errorf("got %+v", c.Status)
	}
}

func TestAGatewayThatTheDoubleCannotServeIsRefused(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		change func(*gatewayv1.Gateway)
		want   string
	}{
		"in another namespace": {func(g *gatewayv1.Gateway) { g.Namespace = tenant }, "False Invalid"},
		"with a hostname for an address": {func(g *gatewayv1.Gateway) {
			g.Spec.Addresses = []gatewayv1.GatewaySpecAddress{{Type: new(gatewayv1.HostnameAddressType), Value: "a.test"}}
		}, "False UnsupportedAddress"},
		"with parameters": {func(g *gatewayv1.Gateway) {
			g.Spec.Infrastructure.ParametersRef = &gatewayv1.LocalParametersReference{Kind: "ConfigMap", Name: "x"}
		}, "False InvalidParameters"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := gatewayOf("double", "edge", listen("web", 80, "HTTP"))
			x.change(g)
			b := newBed(t, g)
			b.sync()
			b.read(g, g.Namespace, "edge")
			if got := condition(g.Status.Conditions, "Accepted", 3); got != x.want {
				t.Errorf("got %s, want %s", got, x.want)
			}
			if got := condition(g.Status.Conditions, "Programmed", 3); got != "False Invalid" {
				t.Errorf("Programmed: got %s", got)
			}
			var all corev1.ServiceList
			if err := b.c.List(t.Context(), &all); err != nil || len(all.Items) > 0 {
				t.Errorf("Services: %v %v", all.Items, err)
			}
		})
	}
}

// listenerStatuses are "name: Accepted, Programmed, ResolvedRefs, Conflicted, routes, kinds" of each listener.
func listenerStatuses(g *gatewayv1.Gateway) map[string]string {
	out := map[string]string{}
	for _, l := range g.Status.Listeners {
		text := ""
		for _, kind := range []string{"Accepted", "Programmed", "ResolvedRefs", "Conflicted"} {
			text += condition(l.Conditions, kind, g.Generation) + ", "
		}
		text += fmt.Sprint(l.AttachedRoutes)
		for _, k := range l.SupportedKinds {
			text += " " + string(k.Kind)
		}
		out[string(l.Name)] = text
	}
	return out
}

func TestEachListenerSaysHowItIs(t *testing.T) {
	t.Parallel()
	kinds := func(kinds ...gatewayv1.Kind) func(*gatewayv1.Listener) {
		return func(l *gatewayv1.Listener) {
			for _, k := range kinds {
				l.AllowedRoutes.Kinds = append(l.AllowedRoutes.Kinds, gatewayv1.RouteGroupKind{Kind: k})
			}
		}
	}
	b := newBed(t, gatewayOf("double", "edge",
		listen("good", 80, "HTTP"), listen("db", 5432, "TCP", kinds("TCPRoute")), listen("udp", 53, "UDP"),
		listen("mixed", 8080, "HTTP", kinds("HTTPRoute", "GRPCRoute")), listen("clash-a", 90, "HTTP"), listen("clash-b", 90, "TCP"),
		listen("twin-a", 91, "HTTP", hostname("a.test")), listen("twin-b", 91, "HTTP", hostname("a.test")),
	), httpOf("r", parent("edge", "good"), nil), httpOf("s", parent("edge", ""), nil))
	b.sync()
	b.metallb()
	b.sync()
	g := b.gateway("edge")
	got := listenerStatuses(g)
	for name, want := range map[string]string{
		"good":    "True Accepted, True Programmed, True ResolvedRefs, False NoConflicts, 2 HTTPRoute",
		"db":      "True Accepted, True Programmed, True ResolvedRefs, False NoConflicts, 0 TCPRoute",
		"udp":     "False UnsupportedProtocol, False Invalid, True ResolvedRefs, False NoConflicts, 0",
		"mixed":   "True Accepted, True Programmed, False InvalidRouteKinds, False NoConflicts, 1 HTTPRoute",
		"clash-a": "False ProtocolConflict, False Invalid, True ResolvedRefs, True ProtocolConflict, 0 HTTPRoute",
		"clash-b": "False ProtocolConflict, False Invalid, True ResolvedRefs, True ProtocolConflict, 0 TCPRoute",
		"twin-a":  "False HostnameConflict, False Invalid, True ResolvedRefs, True HostnameConflict, 0 HTTPRoute",
		"twin-b":  "False HostnameConflict, False Invalid, True ResolvedRefs, True HostnameConflict, 0 HTTPRoute",
	} {
		if got[name] != want {
			t.Errorf("%s: got %s, want %s", name, got[name], want)
		}
	}
	if got := condition(g.Status.Conditions, "Accepted", 3); got != "True ListenersNotValid" {
		t.Errorf("got %s", got)
	}
	if n := len(b.service("edge-double").Spec.Ports); n != 3 {
		t.Errorf("the Service has %d ports, want those of the valid listeners", n)
	}
}

func TestARouteIsToldWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	same := func(l *gatewayv1.Listener) { l.AllowedRoutes = nil }
	selects := func(name string) func(*gatewayv1.Listener) {
		return func(l *gatewayv1.Listener) {
			l.AllowedRoutes.Namespaces.From = new(gatewayv1.NamespacesFromSelector)
			l.AllowedRoutes.Namespaces.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: name}}
		}
	}
	edge := gatewayOf("double", "edge",
		listen("all", 80, "HTTP", hostname("*.example.test")), listen("same", 81, "HTTP", same),
		listen("tenant", 82, "HTTP", selects(tenant)), listen("strangers", 83, "HTTP", selects("strangers")), listen("tcp", 84, "TCP"))
	for name, x := range map[string]struct {
		route client.Object
		want  string
	}{
		"taken":                  {httpOf("r", parent("edge", "all"), []gatewayv1.Hostname{"a.example.test"}), "True Accepted"},
		"selected":               {httpOf("r", parent("edge", "tenant"), nil), "True Accepted"},
		"not selected":           {httpOf("r", parent("edge", "strangers"), nil), "False NotAllowedByListeners"},
		"from another namespace": {httpOf("r", parent("edge", "same"), nil), "False NotAllowedByListeners"},
		"of another kind":        {tcpOf("r", parent("edge", "all")), "False NotAllowedByListeners"},
		"for another host":       {httpOf("r", parent("edge", "all"), []gatewayv1.Hostname{"a.test"}), "False NoMatchingListenerHostname"},
		"for no listener":        {httpOf("r", parent("edge", "gone"), nil), "False NoMatchingParent"},
		"for TCP":                {tcpOf("r", parent("edge", "tcp")), "True Accepted"},
		"asking for more":        {withMethod(httpOf("r", parent("edge", "tenant"), nil)), "False UnsupportedValue"},
		"for a stranger":         {httpOf("r", parent("other", ""), nil), "none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, edge.DeepCopy(), x.route)
			b.sync()
			if got := b.accepted(x.route); got != x.want {
				t.Errorf("got %s, want %s", got, x.want)
			}
		})
	}
}

func withMethod(r *gatewayv1.HTTPRoute) *gatewayv1.HTTPRoute {
	r.Spec.Rules[0].Matches = []gatewayv1.HTTPRouteMatch{{Method: new(gatewayv1.HTTPMethodPost)}}
	return r
}

// parents are the statuses of a route as the API server has them.
func (b *bed) parents(o client.Object) []gatewayv1.RouteParentStatus {
	b.Helper()
	b.read(o, o.GetNamespace(), o.GetName())
	switch r := o.(type) {
	case *gatewayv1.HTTPRoute:
		return r.Status.Parents
	case *gatewayv1.TCPRoute:
		return r.Status.Parents
	}
	b.Fatalf("%T is no route", o)
	return nil
}

func (b *bed) accepted(o client.Object) string {
	b.Helper()
	all := b.parents(o)
	if len(all) != 1 || all[0].ControllerName != ControllerName {
		return "none"
	}
	return condition(all[0].Conditions, "Accepted", o.GetGeneration())
}
