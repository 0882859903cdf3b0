package gatewaydouble

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"offramp.dev/e2e/gatewaydouble/plane"
)

const (
	ours   = "gateways"
	tenant = "shop"
)

// hosts counts the loopback addresses given out: every test's data plane has one of its own.
var hosts atomic.Uint32

// converters know the fields of the kinds that are applied. Making them takes most of a second, so it is done once.
var converters = sync.OnceValue(func() []managedfields.TypeConverter {
	return []managedfields.TypeConverter{applyconfigurations.NewTypeConverter(clientgoscheme.Scheme), managedfields.NewDeducedTypeConverter()}
})

// bed is a double on a fake API server, with its data plane on loopback.
type bed struct {
	*testing.T

	c    client.Client
	r    *Reconciler
	host string
}

func newBed(t *testing.T, objects ...client.Object) *bed {
	t.Helper()
	s := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	if err := gatewayv1.Install(s); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(s).WithTypeConverters(converters()...).WithStatusSubresource(
		&gatewayv1.GatewayClass{}, &gatewayv1.Gateway{}, &gatewayv1.HTTPRoute{}, &gatewayv1.TCPRoute{}, &corev1.Service{},
	).WithObjects(namespace(ours), namespace(tenant)).WithObjects(classes(t)...).WithObjects(objects...).Build()
	n := hosts.Add(1)
	b := &bed{T: t, c: c, host: fmt.Sprintf("127.77.%d.%d", n/250, n%250+1)}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	b.r = &Reconciler{Client: c, Live: c, Plane: plane.New(b.host, log), Settings: settings(), Leads: func() bool { return true }, Log: log}
	t.Cleanup(b.r.Plane.Close)
	return b
}

func settings() Settings {
	return Settings{Namespace: ours, Selector: map[string]string{"app": "gatewaydouble"}, Misbehave: Behave, Ports: DefaultPorts()}
}

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name}}}
}

// classes are those of deploy.yaml.
func classes(t *testing.T) []client.Object {
	t.Helper()
	text, err := os.ReadFile("deploy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	out := []client.Object{}
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		c := &gatewayv1.GatewayClass{}
		if err := yaml.Unmarshal(document, c); err != nil {
			t.Fatal(err)
		}
		if c.Kind == "GatewayClass" {
			out = append(out, c)
		}
	}
	if len(out) != 4 {
		t.Fatalf("deploy.yaml has %d classes", len(out))
	}
	return out
}

// answers is an HTTP server that answers its name.
func answers(t *testing.T, name string) netip.AddrPort {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, name) }))
	t.Cleanup(s.Close)
	return netip.MustParseAddrPort(strings.TrimPrefix(s.URL, "http://"))
}

func (b *bed) create(objects ...client.Object) {
	b.Helper()
	for _, o := range objects {
		if err := b.c.Create(b.Context(), o); err != nil {
			b.Fatal(err)
		}
	}
}

func (b *bed) update(o client.Object) {
	b.Helper()
	if err := b.c.Update(b.Context(), o); err != nil {
		b.Fatal(err)
	}
}

// sync reconciles as the events of its own writes would have it: provision, program, report.
func (b *bed) sync() {
	b.Helper()
	for range 2 {
		if _, err := b.r.Reconcile(b.Context(), ctrl.Request{}); err != nil {
			b.Fatal(err)
		}
	}
}

func (b *bed) read(o client.Object, namespace, name string) {
	b.Helper()
	if err := b.c.Get(b.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
		b.Fatal(err)
	}
}

func (b *bed) gateway(name string) *gatewayv1.Gateway {
	b.Helper()
	g := &gatewayv1.Gateway{}
	b.read(g, ours, name)
	return g
}

func (b *bed) service(name string) *corev1.Service {
	b.Helper()
	s := &corev1.Service{}
	b.read(s, ours, name)
	return s
}

// metallb gives the Services of the double what they ask for, as MetalLB does: it passes over other classes.
func (b *bed) metallb() {
	b.Helper()
	var all corev1.ServiceList
	if err := b.c.List(b.Context(), &all, client.InNamespace(ours)); err != nil {
		b.Fatal(err)
	}
	for i := range all.Items {
		s := &all.Items[i]
		if s.Spec.LoadBalancerClass != nil || s.Annotations[annotationAddresses] == "" {
			continue
		}
		for text := range strings.SplitSeq(s.Annotations[annotationAddresses], ",") {
			s.Status.LoadBalancer.Ingress = append(s.Status.LoadBalancer.Ingress, corev1.LoadBalancerIngress{IP: text})
		}
		if err := b.c.Status().Update(b.Context(), s); err != nil {
			b.Fatal(err)
		}
	}
}

// target is where the data plane serves a port of a Gateway's Service.
func (b *bed) target(service string, port int32) string {
	b.Helper()
	for _, p := range b.service(service).Spec.Ports {
		if p.Port == port {
			return fmt.Sprintf("%s:%d", b.host, p.TargetPort.IntVal)
		}
	}
	b.Fatalf("Service %s has no port %d", service, port)
	return ""
}

// get asks port 80 of a Gateway's Service for a host.
func (b *bed) get(service, host string) (int, string) {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "http://"+b.target(service, 80)+"/", nil)
	if err != nil {
		b.Fatal(err)
	}
	req.Host = host
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// condition is "Status Reason", with the generation where that is not the one wanted.
func condition(list []metav1.Condition, kind string, generation int64) string {
	for _, c := range list {
		if c.Type == kind && c.ObservedGeneration == generation {
			return string(c.Status) + " " + c.Reason
		}
	}
	return "none"
}
