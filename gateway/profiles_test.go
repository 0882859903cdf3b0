package gateway_test

import (
	"reflect"
	"strings"
	"testing"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/gateway"
)

// implementations are all whose behavior behind MetalLB is known, and which of them write the field that is to go.
var implementations = map[string]bool{
	"Envoy Gateway": true, "NGINX Gateway Fabric": true, "Istio": false, "Cilium": false, "Traefik": false, "Contour provisioner": false,
	"Kong Ingress Controller": false, "Kong Operator": false, "kgateway": false, "agentgateway": false, "agentgateway of kgateway": false,
	"HAProxy Technologies kubernetes-ingress": false, "HAProxy Ingress": false, "Caddy Gateway": false,
}

func TestTheTableHoldsEveryImplementationWithWhereItWasRead(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for name, p := range gateway.Profiles() {
		found[p.Implementation] = p.WritesExternalIPs
		for what, text := range map[string]string{
			"implementation": p.Implementation, "binding": string(p.Binding), "source": p.Source, "addresses": p.Addresses,
			"traffic policy": p.TrafficPolicy, "status": p.Status, "routes": strings.Join(p.Routes, ""),
		} {
			if text == "" || strings.Contains(text, "|") {
				t.Errorf("%s: %s is %q", name, what, text)
			}
		}
		if p.Merges != (p.Binding == v1alpha1.BindingStaticService) {
			t.Errorf("%s: merges %v, binding %s", name, p.Merges, p.Binding)
		}
		if p.WritesExternalIPs != strings.Contains(p.Addresses, "externalIPs") {
			t.Errorf("%s: writes externalIPs %v, spec.addresses become %q", name, p.WritesExternalIPs, p.Addresses)
		}
	}
	if !reflect.DeepEqual(found, implementations) {
		t.Errorf("the table holds %v", found)
	}
}

func TestAPolicyOverridesAProfileFieldByField(t *testing.T) {
	t.Parallel()
	const istio = "istio.io/gateway-controller"
	table := gateway.Profiles()[istio]
	for name, tt := range map[string]struct {
		settings v1alpha1.GatewaySettings
		want     func(*gateway.Profile)
	}{
		"nothing":            {v1alpha1.GatewaySettings{}, func(*gateway.Profile) {}},
		"an empty override":  {v1alpha1.GatewaySettings{Override: &v1alpha1.ProfileOverride{}}, func(*gateway.Profile) {}},
		"merging, turned on": {v1alpha1.GatewaySettings{Override: &v1alpha1.ProfileOverride{Merges: new(true)}}, func(p *gateway.Profile) { p.Merges = true }},
		"dual stack, turned off": {
			v1alpha1.GatewaySettings{Override: &v1alpha1.ProfileOverride{PrefersDualStack: new(false)}},
			func(p *gateway.Profile) { p.PrefersDualStack = false },
		},
		"what becomes of spec.addresses": {
			v1alpha1.GatewaySettings{Override: &v1alpha1.ProfileOverride{WritesExternalIPs: new(true)}},
			func(p *gateway.Profile) { p.WritesExternalIPs = true },
		},
		"routes and ports": {
			v1alpha1.GatewaySettings{Override: &v1alpha1.ProfileOverride{Routes: []string{"HTTPRoute"}, Ports: []int32{80}}},
			func(p *gateway.Profile) { p.Routes, p.Ports = []string{"HTTPRoute"}, []int32{80} },
		},
		"the binding, and merging against it": {
			v1alpha1.GatewaySettings{Profile: v1alpha1.BindingStaticService, Override: &v1alpha1.ProfileOverride{Merges: new(false)}},
			func(p *gateway.Profile) {
				p.Binding, p.Source = v1alpha1.BindingStaticService, "MigrationPolicy spec.gateway.profile"
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := table
			tt.want(&want)
			got, known := gateway.ProfileFor(istio, &tt.settings)
			if !known || !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
	if _, known := gateway.ProfileFor("example.com/own", &v1alpha1.GatewaySettings{Override: &v1alpha1.ProfileOverride{Merges: new(true)}}); known {
		t.Error("an override that does not say how addresses are bound makes nothing known")
	}
}

func TestAnOverrideReachesTheConversion(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		override v1alpha1.ProfileOverride
		reason   string
	}{
		"a route that is not served":    {v1alpha1.ProfileOverride{Routes: []string{"HTTPRoute"}}, gateway.ReasonRouteNotServed},
		"a port that is not served":     {v1alpha1.ProfileOverride{Ports: []int32{443}}, gateway.ReasonPortNotServed},
		"a data plane that all share":   {v1alpha1.ProfileOverride{Merges: new(true)}, gateway.ReasonPortExclusive},
		"what the table says elsewhere": {v1alpha1.ProfileOverride{WritesExternalIPs: new(true)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := good()
			in.Settings.Override = &tt.override
			var got []string
			for _, f := range gateway.Convert(in).Findings {
				got = append(got, f.Reason)
			}
			if strings.Join(got, " ") != tt.reason {
				t.Errorf("findings %v, want %q", got, tt.reason)
			}
		})
	}
}
