package gatewaydouble

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// targets are "port:target" of a Service.
func (b *bed) targets(name string) string {
	b.Helper()
	texts := []string{}
	for _, p := range b.service(name).Spec.Ports {
		texts = append(texts, fmt.Sprintf("%d:%d", p.Port, p.TargetPort.IntVal))
	}
	return strings.Join(texts, " ")
}

func TestTheServiceRemembersItsTargetPorts(t *testing.T) {
	t.Parallel()
	b := newBed(t, gatewayOf("double", "edge", listen("web", 80, "HTTP")))
	b.sync()
	s := b.service("edge-double")
	s.Spec.Ports[0].TargetPort.IntVal = 21234
	b.update(s)
	b.sync()
	g := b.gateway("edge")
	g.Spec.Listeners = append(g.Spec.Listeners, listen("more", 81, "HTTP"))
	b.update(g)
	b.sync()
	if got := b.targets("edge-double"); !strings.HasPrefix(got, "80:21234 81:2") {
		t.Errorf("got %s", got)
	}
	g = b.gateway("edge")
	g.Spec.Listeners = g.Spec.Listeners[1:]
	b.update(g)
	b.sync()
	if got := b.targets("edge-double"); !strings.HasPrefix(got, "81:") {
		t.Errorf("after the listener went: got %s", got)
	}
}

func TestGatewaysDoNotShareTargetPortsUntilNoneIsLeft(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.r.Settings.Ports = PortRange{20000, 20003}
	for i := range 4 {
		b.create(gatewayOf("double", fmt.Sprintf("edge-%d", i), listen("web", 80, "HTTP")))
	}
	b.sync()
	seen := map[string]bool{}
	for i := range 4 {
		seen[b.targets(fmt.Sprintf("edge-%d-double", i))] = true
	}
	if len(seen) != 4 {
		t.Errorf("got %v", seen)
	}
	b.create(gatewayOf("double", "one-too-many", listen("web", 80, "HTTP")))
	if _, err := b.r.Reconcile(t.Context(), reconcileRequest()); err == nil || !strings.Contains(err.Error(), "one-too-many") {
		t.Errorf("got %v", err)
	}
}

func TestATargetPortOutsideTheRangeIsNotBelieved(t *testing.T) {
	t.Parallel()
	b := newBed(t, gatewayOf("double", "edge", listen("web", 80, "HTTP")))
	b.sync()
	s := b.service("edge-double")
	want := b.targets("edge-double")
	s.Spec.Ports[0].TargetPort.IntVal = 8081
	b.update(s)
	b.sync()
	if got := b.targets("edge-double"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestListenersOfOnePortShareAServicePort(t *testing.T) {
	t.Parallel()
	b := newBed(t, gatewayOf("double", "edge", listen("a", 80, "HTTP", hostname("a.test")), listen("b", 80, "HTTP", hostname("b.test"))))
	b.sync()
	if n := len(b.service("edge-double").Spec.Ports); n != 1 {
		t.Errorf("got %d ports", n)
	}
}

func TestAnnotationsThatLeaveTheGatewayLeaveTheServiceAndThoseOfOthersStay(t *testing.T) {
	t.Parallel()
	b := newBed(t, gatewayOf("double", "edge", listen("web", 80, "HTTP")))
	b.sync()
	s := b.service("edge-double")
	s.Annotations["metallb.io/ip-allocated-from-pool"] = "migration"
	b.update(s)
	g := b.gateway("edge")
	g.Spec.Infrastructure.Annotations = map[gatewayv1.AnnotationKey]gatewayv1.AnnotationValue{"other": "x"}
	b.update(g)
	b.sync()
	if got := fmt.Sprint(b.service("edge-double").Annotations); got != "map[metallb.io/ip-allocated-from-pool:migration other:x]" {
		t.Errorf("got %s", got)
	}
}

func TestAGatewayCannotTakeTheServicesOwnLabels(t *testing.T) {
	t.Parallel()
	g := gatewayOf("double", "edge", listen("web", 80, "HTTP"))
	g.Spec.Infrastructure.Labels = map[gatewayv1.LabelKey]gatewayv1.LabelValue{labelGateway: "another", "team": "edge"}
	b := newBed(t, g)
	b.sync()
	if l := b.service("edge-double").Labels; l[labelGateway] != "edge" || l["team"] != "edge" {
		t.Errorf("got %v", l)
	}
}

func TestTheFamiliesFollowThePinnedAddresses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"198.51.100.10":              "SingleStack [IPv4]",
		"2001:db8::1":                "SingleStack [IPv6]",
		"2001:db8::1, 198.51.100.10": "RequireDualStack [IPv4 IPv6]",
		"nonsense":                   " []",
		"":                           " []",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			g := gatewayOf("double", "edge", listen("web", 80, "HTTP"))
			g.Spec.Infrastructure.Annotations[annotationAddresses] = gatewayv1.AnnotationValue(text)
			b := newBed(t, g)
			b.sync()
			s := b.service("edge-double").Spec
			policy := corev1.IPFamilyPolicy("")
			if s.IPFamilyPolicy != nil {
				policy = *s.IPFamilyPolicy
			}
			if got := fmt.Sprint(policy, " ", s.IPFamilies); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestAServiceNameIsLegalWhateverTheGatewayIsCalled(t *testing.T) {
	t.Parallel()
	if got := serviceName("edge"); got != "edge-double" {
		t.Errorf("got %s", got)
	}
	seen := map[string]bool{}
	for _, name := range []string{"a.b", "a-b.c", "1edge", strings.Repeat("x", 60), strings.Repeat("x", 253)} {
		got := serviceName(name)
		if errs := validation.IsDNS1035Label(got); len(errs) > 0 || seen[got] {
			t.Errorf("%s: got %s, %v", name, got, errs)
		}
		seen[got] = true
	}
}
