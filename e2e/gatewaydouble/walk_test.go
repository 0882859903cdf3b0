package gatewaydouble

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/gateway"
)

const (
	entryPoint = "shop-web-1a2b3c4d"
	generated  = entryPoint + "-double"
	pinned     = "198.51.100.10"
)

// converted are the objects that Offramp makes of a Service with an HTTP and a TCP port.
func converted(t *testing.T, class string) []*unstructured.Unstructured {
	t.Helper()
	web := service(tenant, "web",
		corev1.ServicePort{Name: "http", Port: 80, AppProtocol: new("http")}, corev1.ServicePort{Name: "db", Port: 5432})
	web.Spec.Selector, web.Spec.ExternalIPs = map[string]string{"app": "web"}, []string{"203.0.113.10"}
	out := gateway.Convert(gateway.Input{
		EntryPoint: entryPoint, Strategy: v1alpha1.StrategyGateway, Services: []*corev1.Service{web},
		Addresses: []netip.Addr{netip.MustParseAddr(pinned)}, Hostnames: []string{"shop.example.test"}, TCPRouteVersion: "v1",
		Settings: &v1alpha1.GatewaySettings{ClassName: class, Namespace: ours},
		Profile:  gateway.Profile{ControllerName: ControllerName, Binding: v1alpha1.BindingAnnotation},
	})
	if len(out.Objects) != 3 {
		t.Fatalf("want a Gateway, an HTTPRoute and a TCPRoute, got %v %v", out.Objects, out.Findings)
	}
	for i, o := range out.Objects {
		o.SetGeneration(int64(10 + i))
		o.SetUID(types.UID(fmt.Sprintf("uid-%d", i)))
	}
	return out.Objects
}

// staged is a bed with what Offramp applies, and with the Service that it applies it for.
func staged(t *testing.T, class string) (*bed, []*unstructured.Unstructured) {
	t.Helper()
	web := service(tenant, "web", corev1.ServicePort{Name: "http", Port: 80}, corev1.ServicePort{Name: "db", Port: 5432})
	b := newBed(t, web)
	b.create(slice(web, "http", true, answers(t, "web"))...)
	b.create(slice(web, "db", true, lines(t))...)
	want := converted(t, class)
	for _, o := range want {
		b.create(o.DeepCopy())
	}
	b.sync()
	b.metallb()
	b.sync()
	return b, want
}

// lines is a TCP server that answers a line with itself.
func lines(t *testing.T) netip.AddrPort {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(c).ReadString('\n')
			_, _ = fmt.Fprint(c, "line "+line)
			_ = c.Close()
		}
	}()
	return netip.MustParseAddrPort(l.Addr().String())
}

// health is what Offramp reads back.
func (b *bed) health(want []*unstructured.Unstructured) gateway.Health {
	b.Helper()
	live := []*unstructured.Unstructured{}
	for _, o := range want {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(o.GroupVersionKind())
		b.read(u, o.GetNamespace(), o.GetName())
		live = append(live, u)
	}
	var all corev1.ServiceList
	if err := b.c.List(b.Context(), &all, client.InNamespace(ours)); err != nil {
		b.Fatal(err)
	}
	for i := range all.Items {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&all.Items[i])
		if err != nil {
			b.Fatal(err)
		}
		u := &unstructured.Unstructured{Object: content}
		u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Service"))
		live = append(live, u)
	}
	return gateway.Read(want, live, []netip.Addr{netip.MustParseAddr(pinned)})
}

func TestWhatOfframpStagesIsServedAndReadsAsProgrammed(t *testing.T) {
	t.Parallel()
	b, want := staged(t, "double")
	if h := b.health(want); !h.Programmed || !h.Known || len(h.Addresses) != 1 {
		t.Errorf("got %+v", h)
	}
	if status, body := b.get(generated, "shop.example.test"); status != 200 || body != "web" {
		t.Errorf("got %d %q", status, body)
	}
	if status, _ := b.get(generated, "other.example.test"); status != 404 {
		t.Errorf("another host: got %d", status)
	}
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", b.target(generated, 5432))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := fmt.Fprintln(c, "hello"); err != nil {
		t.Fatal(err)
	}
	if got, err := bufio.NewReader(c).ReadString('\n'); err != nil || got != "line hello\n" {
		t.Errorf("got %q %v", got, err)
	}
}

func TestTheServiceIsTheGatewaysAndCarriesItsInfrastructure(t *testing.T) {
	t.Parallel()
	b, _ := staged(t, "double")
	g, s := b.gateway(entryPoint), b.service(generated)
	if !metav1.IsControlledBy(s, g) || s.Labels[labelGateway] != entryPoint || s.Labels[labelGatewayClass] != "double" {
		t.Errorf("got %+v", s.ObjectMeta)
	}
	for key, value := range g.Spec.Infrastructure.Annotations {
		if s.Annotations[string(key)] != string(value) {
			t.Errorf("annotation %s: got %q", key, s.Annotations[string(key)])
		}
	}
	if s.Spec.Type != corev1.ServiceTypeLoadBalancer || s.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyCluster ||
		s.Spec.Selector["app"] != "gatewaydouble" || len(s.Spec.Ports) != 2 || s.Spec.LoadBalancerClass != nil || len(s.Spec.ExternalIPs) > 0 {
		t.Errorf("got %+v", s.Spec)
	}
	if len(s.Spec.IPFamilies) != 1 || s.Spec.IPFamilies[0] != corev1.IPv4Protocol || *s.Spec.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack {
		t.Errorf("families: got %v %v", s.Spec.IPFamilies, s.Spec.IPFamilyPolicy)
	}
}

func TestOfframpSeesEachMisbehaviorForWhatItIs(t *testing.T) {
	t.Parallel()
	for class, reason := range map[string]string{
		"double-external-ips":  gateway.HealthWritesExternalIPs,
		"double-foreign-class": gateway.HealthForeignClass,
		"double-no-address":    gateway.HealthPending,
	} {
		t.Run(class, func(t *testing.T) {
			t.Parallel()
			b, want := staged(t, class)
			if h := b.health(want); h.Programmed || h.Reason != reason {
				t.Errorf("got %+v, want %s", h, reason)
			}
		})
	}
}

func TestTheExternalIPsModeWritesThemAndReportsThemAsProgrammed(t *testing.T) {
	t.Parallel()
	b, _ := staged(t, "double-external-ips")
	g, s := b.gateway(entryPoint), b.service(generated)
	if fmt.Sprint(s.Spec.ExternalIPs) != "["+pinned+"]" || len(g.Status.Addresses) != 1 || g.Status.Addresses[0].Value != pinned {
		t.Errorf("got %v %v", s.Spec.ExternalIPs, g.Status.Addresses)
	}
	if got := condition(g.Status.Conditions, "Programmed", g.Generation); got != "True Programmed" {
		t.Errorf("got %s", got)
	}
	g.Spec.Addresses = append(g.Spec.Addresses, specAddress("198.51.100.77"))
	b.update(g)
	b.sync()
	if s = b.service(generated); fmt.Sprint(s.Spec.ExternalIPs) != "[198.51.100.77]" {
		t.Errorf("spec.addresses: got %v", s.Spec.ExternalIPs)
	}
	if status, body := b.get(generated, "shop.example.test"); status != 200 || body != "web" {
		t.Errorf("got %d %q", status, body)
	}
}

func TestTheForeignClassModeGetsNoAddressAndSaysSo(t *testing.T) {
	t.Parallel()
	b, _ := staged(t, "double-foreign-class")
	g, s := b.gateway(entryPoint), b.service(generated)
	if s.Spec.LoadBalancerClass == nil || *s.Spec.LoadBalancerClass != foreignClass {
		t.Errorf("got %v", s.Spec.LoadBalancerClass)
	}
	if got := condition(g.Status.Conditions, "Programmed", g.Generation); got != "False AddressNotAssigned" || len(g.Status.Addresses) > 0 {
		t.Errorf("got %s %v", got, g.Status.Addresses)
	}
}

func TestTheNoAddressModeClaimsToBeProgrammedWithoutAService(t *testing.T) {
	t.Parallel()
	b, _ := staged(t, "double-no-address")
	g := b.gateway(entryPoint)
	if got := condition(g.Status.Conditions, "Programmed", g.Generation); got != "True Programmed" || len(g.Status.Addresses) > 0 {
		t.Errorf("got %s %v", got, g.Status.Addresses)
	}
	err := b.c.Get(t.Context(), client.ObjectKey{Namespace: ours, Name: generated}, &corev1.Service{})
	if client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the Service: got %v", err)
	}
}

func TestTheFlagIsForClassesThatDoNotSay(t *testing.T) {
	t.Parallel()
	b := newBed(t, gatewayOf("double", "a", listen("web", 80, "HTTP")), gatewayOf("double-external-ips", "b", listen("web", 80, "HTTP")))
	b.r.Settings.Misbehave = ForeignClass
	b.sync()
	if a := b.service("a-double"); a.Spec.LoadBalancerClass == nil {
		t.Error("class double does not follow the flag")
	}
	if s := b.service("b-double"); s.Spec.LoadBalancerClass != nil || len(s.Spec.ExternalIPs) != 1 {
		t.Errorf("class double-external-ips: got %+v", s.Spec)
	}
}

func TestAModeThatIsNoneIsRefusedOnItsClass(t *testing.T) {
	t.Parallel()
	b := newBed(t, gatewayOf("double-no-address", "a", listen("web", 80, "HTTP")))
	c := classOf(b, "double-no-address")
	c.Annotations[AnnotationMisbehave] = "sometimes"
	b.update(c)
	b.sync()
	c = classOf(b, "double-no-address")
	if got := condition(c.Status.Conditions, "Accepted", c.Generation); got != "False InvalidParameters" {
		t.Errorf("got %s", got)
	}
	g := b.gateway("a")
	if got := condition(g.Status.Conditions, "Accepted", 3); got != "False Invalid" || !strings.Contains(g.Status.Conditions[0].Message, "sometimes") {
		t.Errorf("got %s, %+v", got, g.Status.Conditions)
	}
}
