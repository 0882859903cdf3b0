package gateway_test

import (
	"net/netip"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1alpha2 "sigs.k8s.io/gateway-api/apis/v1alpha2"
	"sigs.k8s.io/yaml"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/gateway"
)

// typed is the type that an object must decode into without one unknown field.
func typed(o *unstructured.Unstructured) any {
	switch o.GetAPIVersion() + " " + o.GetKind() {
	case "v1 Service":
		return &corev1.Service{}
	case "gateway.networking.k8s.io/v1 Gateway":
		return &gatewayv1.Gateway{}
	case "gateway.networking.k8s.io/v1 HTTPRoute":
		return &gatewayv1.HTTPRoute{}
	case "gateway.networking.k8s.io/v1 TLSRoute":
		return &gatewayv1.TLSRoute{}
	case "gateway.networking.k8s.io/v1 TCPRoute":
		return &gatewayv1.TCPRoute{}
	case "gateway.networking.k8s.io/v1alpha2 TCPRoute":
		return &gatewayv1alpha2.TCPRoute{}
	}
	return nil
}

// mustBeLegal checks what every target object must be, whatever it was made from.
func mustBeLegal(t *testing.T, in gateway.Input, o *unstructured.Unstructured) {
	t.Helper()
	if errs := validation.IsDNS1035Label(o.GetName()); len(errs) > 0 {
		t.Errorf("name %q: %v", o.GetName(), errs)
	}
	if errs := validation.IsDNS1123Label(o.GetNamespace()); len(errs) > 0 {
		t.Errorf("namespace %q: %v", o.GetNamespace(), errs)
	}
	label := o.GetLabels()[v1alpha1.LabelEntryPoint]
	if label != gateway.Label(in.EntryPoint) || len(validation.IsValidLabelValue(label)) > 0 {
		t.Errorf("label %q", label)
	}
	if len(o.GetOwnerReferences()) > 0 {
		t.Error("it has an owner")
	}
	for key, value := range o.GetAnnotations() {
		if strings.HasPrefix(key, "external-dns.") && (!strings.HasSuffix(key, "/controller") || value != "offramp") {
			t.Errorf("annotation %s: %s", key, value)
		}
	}
	into := typed(o)
	data, err := yaml.Marshal(o.DeepCopy().Object)
	if err != nil || into == nil {
		t.Fatalf("%s %s: %v", o.GetAPIVersion(), o.GetKind(), err)
	}
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		t.Errorf("%s: %v", o.GetKind(), err)
	}
	if gw, isGateway := into.(*gatewayv1.Gateway); isGateway {
		mustBeLegalGateway(t, gw)
	}
}

func mustBeLegalGateway(t *testing.T, gw *gatewayv1.Gateway) {
	t.Helper()
	if len(gw.Spec.Addresses) > 0 {
		t.Error("spec.addresses is set")
	}
	if len(gw.Spec.Listeners) == 0 || len(gw.Spec.Listeners) > 64 || len(gw.Name) > 40 {
		t.Errorf("%d listeners, name %q", len(gw.Spec.Listeners), gw.Name)
	}
	names, keys := map[gatewayv1.SectionName]bool{}, map[string]bool{}
	for _, l := range gw.Spec.Listeners {
		host := ""
		if l.Hostname != nil {
			host = string(*l.Hostname)
		}
		key := string(l.Protocol) + " " + strconv.Itoa(int(l.Port)) + " " + host
		if names[l.Name] || keys[key] || len(validation.IsDNS1123Label(string(l.Name))) > 0 {
			t.Errorf("listener %q for %q is illegal or stands there twice", l.Name, key)
		}
		names[l.Name], keys[key] = true, true
		ns := l.AllowedRoutes.Namespaces
		if *ns.From != gatewayv1.NamespacesFromSelector || len(ns.Selector.MatchLabels) != 1 || len(l.AllowedRoutes.Kinds) != 1 {
			t.Errorf("listener %q lets too much in", l.Name)
		}
	}
}

func TestEveryObjectOfTheGoldenPairsIsLegal(t *testing.T) {
	t.Parallel()
	for _, file := range goldenInputs(t) {
		in := readInput(t, file)
		for _, o := range gateway.Convert(in).Objects {
			mustBeLegal(t, in, o)
		}
	}
}

func TestABlockedConversionHasNoObjectsAndEveryFindingNamesAWayOut(t *testing.T) {
	t.Parallel()
	for _, file := range goldenInputs(t) {
		out := gateway.Convert(readInput(t, file))
		blocked := false
		for _, f := range out.Findings {
			blocked = blocked || f.Severity == v1alpha1.SeverityBlock
			if f.Reason == "" || f.Object == "" || f.Message == "" || f.Fix == "" {
				t.Errorf("%s: %+v lacks something", file, f)
			}
		}
		if blocked != (len(out.Objects) == 0) && !strings.Contains(file, "adopt") {
			t.Errorf("%s: blocked %v with %d objects", file, blocked, len(out.Objects))
		}
	}
}

// good is an Input that converts without a word.
func good() gateway.Input {
	return gateway.Input{
		EntryPoint: "shop-web-1a2b3c4d", Strategy: v1alpha1.StrategyGateway, TCPRouteVersion: "v1",
		Services: []*corev1.Service{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}, Selector: map[string]string{"app": "web"}},
		}},
		Addresses: []netip.Addr{netip.MustParseAddr("198.51.100.10")},
		Settings:  &v1alpha1.GatewaySettings{ClassName: "edge", Namespace: "gateways"},
		Profile:   gateway.Profile{Binding: v1alpha1.BindingAnnotation},
	}
}

func TestConvertRefusesWhatItCannotUnderstand(t *testing.T) {
	t.Parallel()
	if out := gateway.Convert(good()); len(out.Findings) > 0 || len(out.Objects) != 2 {
		t.Fatalf("the good input is not: %+v", out.Findings)
	}
	for name, tt := range map[string]struct {
		change func(*gateway.Input)
		reason string
	}{
		"no settings":  {func(in *gateway.Input) { in.Settings = nil }, gateway.ReasonNoGatewaySettings},
		"no class":     {func(in *gateway.Input) { in.Settings.ClassName = "" }, gateway.ReasonNoGatewaySettings},
		"no namespace": {func(in *gateway.Input) { in.Settings.Namespace = "A b" }, gateway.ReasonNoGatewaySettings},
		"no profile":   {func(in *gateway.Input) { in.Profile = gateway.Profile{} }, gateway.ReasonUnknownGatewayClass},
		"no static Service": {
			func(in *gateway.Input) { in.Settings.Profile = v1alpha1.BindingStaticService }, gateway.ReasonNoStaticService,
		},
		"a strategy from a typo":  {func(in *gateway.Input) { in.Strategy = "Gatewey" }, gateway.ReasonUnknownStrategy},
		"no strategy":             {func(in *gateway.Input) { in.Strategy = "" }, gateway.ReasonUnknownStrategy},
		"no Services":             {func(in *gateway.Input) { in.Services = nil }, gateway.ReasonNoService},
		"a nil Service":           {func(in *gateway.Input) { in.Services = []*corev1.Service{nil} }, gateway.ReasonNoService},
		"no addresses":            {func(in *gateway.Input) { in.Addresses = nil }, gateway.ReasonNoAddress},
		"an address that is none": {func(in *gateway.Input) { in.Addresses = []netip.Addr{{}} }, gateway.ReasonNoAddress},
		"a TCPRoute version that nobody knows": {
			func(in *gateway.Input) { in.TCPRouteVersion = "v1/../../pods" }, gateway.ReasonRouteNotServed,
		},
		"an implementation without TCPRoute": {
			func(in *gateway.Input) { in.Profile.Routes = []string{"HTTPRoute"} }, gateway.ReasonRouteNotServed,
		},
		"a selector that is no selector": {
			func(in *gateway.Input) { in.Services[0].Spec.Selector = map[string]string{"a b": "c"} }, gateway.ReasonBadService,
		},
		"an appProtocol that is none": {
			func(in *gateway.Input) { s := "a b"; in.Services[0].Spec.Ports[0].AppProtocol = &s }, gateway.ReasonBadService,
		},
	} {
		in := good()
		tt.change(&in)
		out := gateway.Convert(in)
		if len(out.Objects) > 0 || len(out.Findings) == 0 || out.Findings[0].Reason != tt.reason {
			t.Errorf("%s: %d objects, findings %+v, want %s", name, len(out.Objects), out.Findings, tt.reason)
		}
	}
}

func TestLabelIsTheNameOrAHashOfIt(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 64)
	for name, want := range map[string]bool{
		"shop-web-1a2b3c4d": true, strings.Repeat("a", 63): true, long: false, "": false, "a b": false, "-a": false,
	} {
		label := gateway.Label(name)
		if (label == name) != want || label == "" || len(validation.IsValidLabelValue(label)) > 0 {
			t.Errorf("%q: label %q", name, label)
		}
	}
	if gateway.Label(long) == gateway.Label(long+"a") {
		t.Error("two names have one label")
	}
}

func TestAParallelServiceHasANameOfItsOwnPerEntryPointAndSource(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, key := range [][3]string{
		{"ep", "shop", "web"},
		{"ep", "shop", "web-offramp"},
		{"ep2", "shop", "web"},
		{"ep", "admin", "web"},
		{"ep", "shop", strings.Repeat("b", 63)},
		{"ep", "shop", strings.Repeat("b", 62)},
		{"ep", "shop", "9web"},
	} {
		name := gateway.ServiceName(key[0], key[1], key[2])
		if seen[name] || name == key[2]+"-offramp" || len(validation.IsDNS1035Label(name)) > 0 {
			t.Errorf("%v: %q", key, name)
		}
		seen[name] = true
	}
}

func TestProfileForLetsThePolicyDecide(t *testing.T) {
	t.Parallel()
	if _, known := gateway.ProfileFor("example.test/unknown", nil); known {
		t.Error("an unknown controller is known")
	}
	static := &v1alpha1.GatewaySettings{Profile: v1alpha1.BindingStaticService}
	p, known := gateway.ProfileFor("example.test/unknown", static)
	if !known || p.Binding != v1alpha1.BindingStaticService || !p.Merges || p.ControllerName != "example.test/unknown" {
		t.Errorf("%+v %v", p, known)
	}
	p, _ = gateway.ProfileFor("istio.io/gateway-controller", &v1alpha1.GatewaySettings{})
	if p.Binding != v1alpha1.BindingAnnotation || p.Implementation != "Istio" {
		t.Errorf("%+v", p)
	}
}
