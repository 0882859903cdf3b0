package gatewaydouble

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

func TestTheOlderTCPRouteHasTheListener(t *testing.T) {
	t.Parallel()
	first, second := tcpOf("z-first", parent("edge", "tcp")), tcpOf("a-second", parent("edge", "tcp"))
	first.CreationTimestamp = metav1.Unix(1000, 0)
	second.CreationTimestamp = metav1.Unix(2000, 0)
	b := newBed(t, gatewayOf("double", "edge", listen("tcp", 84, "TCP")), first, second)
	b.sync()
	if got := b.accepted(first); got != "True Accepted" {
		t.Errorf("the first: got %s", got)
	}
	if got := b.accepted(second); got != "False NotAllowedByListeners" {
		t.Errorf("the second: got %s", got)
	}
}

func TestWhatOtherControllersSayOfARouteStays(t *testing.T) {
	t.Parallel()
	r := httpOf("r", parent("edge", ""), nil)
	r.Status.Parents = []gatewayv1.RouteParentStatus{
		{ParentRef: parent("traefik", ""), ControllerName: "traefik.io/gateway-controller"},
		{ParentRef: parent("gone", ""), ControllerName: ControllerName},
	}
	b := newBed(t, gatewayOf("double", "edge", listen("web", 80, "HTTP")), r)
	b.sync()
	all := b.parents(r)
	if len(all) != 2 || all[0].ControllerName != "traefik.io/gateway-controller" || all[1].ParentRef.Name != "edge" {
		t.Errorf("got %+v", all)
	}
}

func TestAFollowerServesAndWritesNothing(t *testing.T) {
	t.Parallel()
	web := service(tenant, "web", corev1.ServicePort{Name: "http", Port: 80})
	b := newBed(t, web, gatewayOf("double", "edge", listen("web", 80, "HTTP")), httpOf("r", parent("edge", ""), nil, refTo("web", 80)))
	b.create(slice(web, "http", true, answers(t, "web"))...)
	b.r.Leads = func() bool { return false }
	b.sync()
	if g := b.gateway("edge"); len(g.Status.Conditions) > 0 {
		t.Errorf("got %+v", g.Status)
	}
	b.r.Leads = func() bool { return true }
	b.sync()
	before := b.gateway("edge").ResourceVersion
	b.r.Leads = func() bool { return false }
	b.r.Plane.Close() // as another process that starts now
	b.sync()
	if status, body := b.get("edge-double", "any.test"); status != 200 || body != "web" {
		t.Errorf("got %d %q", status, body)
	}
	if after := b.gateway("edge").ResourceVersion; after != before {
		t.Error("it wrote")
	}
}

func TestASecondLookWritesNothing(t *testing.T) {
	t.Parallel()
	r := httpOf("r", parent("edge", ""), nil)
	b := newBed(t, gatewayOf("double", "edge", listen("web", 80, "HTTP")), r)
	b.sync()
	b.metallb()
	b.sync()
	versions := func() string {
		b.parents(r)
		return b.gateway("edge").ResourceVersion + " " + r.ResourceVersion + " " + classOf(b, "double").ResourceVersion
	}
	before := versions()
	b.sync()
	if after := versions(); after != before {
		t.Errorf("before %s, after %s", before, after)
	}
}

func TestAServiceOfSomebodyElseIsLeftAlone(t *testing.T) {
	t.Parallel()
	other := service(ours, "edge-double", corev1.ServicePort{Name: "x", Port: 1})
	b := newBed(t, other, gatewayOf("double", "edge", listen("web", 80, "HTTP")))
	if _, err := b.r.Reconcile(t.Context(), ctrl.Request{}); err == nil {
		t.Error("no error, so nobody tries again")
	}
	if s := b.service("edge-double"); len(s.Spec.Ports) != 1 || s.Spec.Ports[0].Port != 1 || len(s.Labels) > 0 {
		t.Errorf("got %+v", s)
	}
	b.programmed("False Invalid")
}
