package gatewaydouble

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

func reconcileRequest() ctrl.Request { return ctrl.Request{} }

const elsewhere = "elsewhere"

// away is a reference to a Service of another namespace.
func away() gatewayv1.BackendRef {
	ref := refTo("web", 80)
	ref.Namespace = new(gatewayv1.Namespace(elsewhere))
	return ref
}

func grant(change ...func(*gatewayv1.ReferenceGrant)) *gatewayv1.ReferenceGrant {
	g := &gatewayv1.ReferenceGrant{ObjectMeta: metav1.ObjectMeta{Namespace: elsewhere, Name: "grant"}}
	g.Spec.From = []gatewayv1.ReferenceGrantFrom{{Group: gatewayv1.GroupName, Kind: "HTTPRoute", Namespace: tenant}}
	g.Spec.To = []gatewayv1.ReferenceGrantTo{{Kind: "Service"}}
	for _, f := range change {
		f(g)
	}
	return g
}

func TestReferencesAreResolvedOrSaidNotToBe(t *testing.T) {
	t.Parallel()
	secret := refTo("web", 80)
	secret.Kind = new(gatewayv1.Kind("Secret"))
	grantName := func(name gatewayv1.ObjectName) func(*gatewayv1.ReferenceGrant) {
		return func(g *gatewayv1.ReferenceGrant) { g.Spec.To[0].Name = &name }
	}
	for name, x := range map[string]struct {
		ref    gatewayv1.BackendRef
		grants []client.Object
		want   string
		status int
	}{
		"a Service port":                     {refTo("web", 80), nil, "True ResolvedRefs", 200},
		"no such Service":                    {refTo("gone", 80), nil, "False BackendNotFound", 500},
		"no such port":                       {refTo("web", 81), nil, "False BackendNotFound", 500},
		"a UDP port":                         {refTo("web", 53), nil, "False BackendNotFound", 500},
		"an ExternalName":                    {refTo("outside", 80), nil, "False BackendNotFound", 500},
		"no Service":                         {secret, nil, "False InvalidKind", 500},
		"elsewhere without a grant":          {away(), nil, "False RefNotPermitted", 500},
		"elsewhere with a grant":             {away(), []client.Object{grant()}, "True ResolvedRefs", 200},
		"elsewhere with a grant by name":     {away(), []client.Object{grant(grantName("web"))}, "True ResolvedRefs", 200},
		"elsewhere with a grant for another": {away(), []client.Object{grant(grantName("api"))}, "False RefNotPermitted", 500},
		"elsewhere with a grant to others": {away(), []client.Object{grant(func(g *gatewayv1.ReferenceGrant) {
			g.Spec.From[0].Namespace = ours
		})}, "False RefNotPermitted", 500},
		"elsewhere with a grant of the wrong namespace": {away(), []client.Object{grant(func(g *gatewayv1.ReferenceGrant) {
			g.Namespace = tenant
		})}, "False RefNotPermitted", 500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httpOf("r", parent("edge", ""), nil, x.ref)
			b := newBed(t, gatewayOf("double", "edge", listen("web", 80, "HTTP")), r, namespace(elsewhere))
			b.create(x.grants...)
			b.backends()
			b.sync()
			if got := condition(b.parents(r)[0].Conditions, "ResolvedRefs", 5); got != x.want {
				t.Errorf("got %s, want %s", got, x.want)
			}
			if status, _ := b.get("edge-double", "any.test"); status != x.status {
				t.Errorf("got %d, want %d", status, x.status)
			}
		})
	}
}

// backends are Services web of the tenant and elsewhere, and one outside.
func (b *bed) backends() {
	b.Helper()
	outside := service(tenant, "outside", corev1.ServicePort{Port: 80})
	outside.Spec.Type, outside.Spec.ExternalName = corev1.ServiceTypeExternalName, "example.test"
	b.create(outside)
	for _, ns := range []string{tenant, elsewhere} {
		web := service(ns, "web", corev1.ServicePort{Name: "http", Port: 80}, corev1.ServicePort{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP})
		b.create(web)
		b.create(slice(web, "http", true, answers(b.T, ns))...)
	}
}

func TestOnlyReadyEndpointsOfThePortAreAsked(t *testing.T) {
	t.Parallel()
	web := service(tenant, "web", corev1.ServicePort{Name: "http", Port: 80}, corev1.ServicePort{Name: "admin", Port: 81})
	b := newBed(t, web, gatewayOf("double", "edge", listen("web", 80, "HTTP")), httpOf("r", parent("edge", ""), nil, refTo("web", 80)))
	b.create(slice(web, "http", false, answers(t, "unready"))...)
	b.create(slice(web, "admin", true, answers(t, "admin"))...)
	b.create(slice(service(tenant, "other"), "http", true, answers(t, "other"))...)
	b.sync()
	if status, _ := b.get("edge-double", "any.test"); status != 503 {
		t.Errorf("without a ready endpoint: got %d", status)
	}
	b.create(slice(web, "http", true, answers(t, "a"), answers(t, "b"))...)
	b.sync()
	got := map[string]int{}
	for range 10 {
		_, body := b.get("edge-double", "any.test")
		got[body]++
	}
	if len(got) != 2 || got["a"] != 5 || got["b"] != 5 {
		t.Errorf("got %v", got)
	}
}

func TestWeightsOfBackendRefsAreHonored(t *testing.T) {
	t.Parallel()
	heavy, none := refTo("heavy", 80), refTo("none", 80)
	heavy.Weight, none.Weight = new(int32(3)), new(int32(0))
	b := newBed(t, gatewayOf("double", "edge", listen("web", 80, "HTTP")),
		httpOf("r", parent("edge", ""), nil, heavy, refTo("light", 80), none))
	for _, name := range []string{"heavy", "light", "none"} {
		s := service(tenant, name, corev1.ServicePort{Port: 80})
		b.create(s)
		b.create(slice(s, "", true, answers(t, name))...)
	}
	b.sync()
	got := map[string]int{}
	for range 20 {
		_, body := b.get("edge-double", "any.test")
		got[body]++
	}
	if fmt.Sprint(got) != "map[heavy:15 light:5]" {
		t.Errorf("got %v", got)
	}
}

func TestTheMoreSpecificHostnameAndPathWin(t *testing.T) {
	t.Parallel()
	route := func(name string, hosts []gatewayv1.Hostname, path string) *gatewayv1.HTTPRoute {
		r := httpOf(name, parent("edge", ""), hosts, refTo(name, 80))
		r.Spec.Rules[0].Matches = []gatewayv1.HTTPRouteMatch{{Path: &gatewayv1.HTTPPathMatch{Value: &path}}}
		return r
	}
	all := []client.Object{
		route("any", nil, "/"), route("wild", []gatewayv1.Hostname{"*.example.test"}, "/"),
		route("exact", []gatewayv1.Hostname{"a.example.test"}, "/"), route("deep", []gatewayv1.Hostname{"a.example.test"}, "/deep"),
	}
	b := newBed(t, append(all, gatewayOf("double", "edge", listen("web", 80, "HTTP")))...)
	for _, r := range all {
		s := service(tenant, r.GetName(), corev1.ServicePort{Port: 80})
		b.create(s)
		b.create(slice(s, "", true, answers(t, r.GetName()))...)
	}
	b.sync()
	for host, want := range map[string]string{"a.example.test": "exact", "b.example.test": "wild", "b.test": "any"} {
		if _, body := b.get("edge-double", host); body != want {
			t.Errorf("%s: got %s, want %s", host, body, want)
		}
	}
	w, err := look(t.Context(), b.c)
	if err != nil {
		t.Fatal(err)
	}
	v := judge(w, settings())
	if rules := v.rules(v.gateways[0].listeners[0]); rules[0].Path.Value != "/deep" || rules[1].Hostname != "a.example.test" {
		t.Errorf("got %+v", rules)
	}
}
