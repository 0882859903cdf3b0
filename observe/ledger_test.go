package observe

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/migration"
)

// shared is a row that entry points share, each by a hostname of its own name.
func shared(entryPoints ...string) v1alpha1.AddressClaim {
	var row v1alpha1.AddressClaimSpec
	for _, name := range entryPoints {
		c := addresspool.Claim{
			Address: netip.MustParseAddr("192.0.2.9"), Role: addresspool.New, EntryPoint: name,
			Holders:   []addresspool.Holder{{Namespace: "ingress", Name: "edge", Ports: []string{"TCP/80"}}},
			Listeners: []addresspool.Listener{{Port: "TCP/80", Protocol: "HTTP", Hostnames: []string{name + ".example"}}},
		}
		if row.Address == "" {
			row = addresspool.NewRow(c)
		} else {
			row = addresspool.Join(&row, c)
		}
	}
	return v1alpha1.AddressClaim{ObjectMeta: metav1.ObjectMeta{Name: "192.0.2.9"}, Spec: row}
}

func worldOf(entryPoint string, rows ...v1alpha1.AddressClaim) *World {
	return &World{EntryPoint: &v1alpha1.EntryPoint{ObjectMeta: metav1.ObjectMeta{Name: entryPoint}}, Claims: rows}
}

func TestBeforeAnActionTheRowsOfThePlanAreReadPastTheCache(t *testing.T) {
	t.Parallel()
	s := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	plan := &migration.Plan{Claims: []addresspool.Claim{{Address: netip.MustParseAddr("192.0.2.9")}}}
	other := v1alpha1.AddressClaim{ObjectMeta: metav1.ObjectMeta{Name: "192.0.2.1"}}
	live := shared("a", "b")
	for name, c := range map[string]struct {
		cached []v1alpha1.AddressClaim
		stored []v1alpha1.AddressClaim
		want   []string
	}{
		"a row that the cache has not seen yet": {nil, []v1alpha1.AddressClaim{live}, []string{"a", "b"}},
		"a row that another one joined":         {[]v1alpha1.AddressClaim{other, shared("a")}, []v1alpha1.AddressClaim{live}, []string{"a", "b"}},
		"a row that is gone":                    {[]v1alpha1.AddressClaim{other, live}, nil, nil},
		"no row anywhere":                       {[]v1alpha1.AddressClaim{other}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := fake.NewClientBuilder().WithScheme(s)
			for i := range c.stored {
				b = b.WithObjects(c.stored[i].DeepCopy())
			}
			w := worldOf("a", slices.Clone(c.cached)...)
			if err := (&Looker{}).lookAgain(t.Context(), b.Build(), w, plan); err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range w.Claims {
				if w.Claims[i].Name == "192.0.2.9" {
					got = addresspool.EntryPoints(&w.Claims[i].Spec)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("the row is held by %v among %d rows, want %v", got, len(w.Claims), c.want)
			}
		})
	}
}

func TestAShareCountsAsOursWhoeverStandsFirst(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"a": true, "b": true, "c": false} {
		w := worldOf(name, shared("a", "b"))
		if got := claims(w, nil); got.Any != want {
			t.Errorf("%s holds a row: %v, want %v", name, got.Any, want)
		}
		if got := foreignHolder(w, []string{"192.0.2.9"}); (got == "") != want {
			t.Errorf("%s sees the foreign holder %q", name, got)
		}
	}
	if got := alongside(worldOf("a", shared("a", "b", "c", "d", "e"))); got != "EntryPoint b on TCP/80 of 192.0.2.9, "+
		"EntryPoint c on TCP/80 of 192.0.2.9, EntryPoint d on TCP/80 of 192.0.2.9, 1 more" {
		t.Errorf("alongside a: %s", got)
	}
}

func TestOfTwoPlansThatMeetTheLaterOneIsToldWhere(t *testing.T) {
	t.Parallel()
	listener := func(host string) *migration.Plan {
		return &migration.Plan{
			Strategy: v1alpha1.StrategyGateway,
			Objects: []json.RawMessage{json.RawMessage(
				`{"kind":"Gateway","spec":{"listeners":[{"name":"l","port":80,"protocol":"HTTP","hostname":"` + host + `"}]}}`)},
			Claims: []addresspool.Claim{{
				Address: netip.MustParseAddr("192.0.2.9"), Role: addresspool.New, EntryPoint: "b",
				Holders: []addresspool.Holder{{Namespace: "ingress", Name: "edge", Ports: []string{"TCP/80"}}},
			}},
		}
	}
	for host, want := range map[string]string{"a.example": "hostname a.example at port TCP/80", "b.example": ""} {
		got := claims(worldOf("b", shared("a")), listener(host))
		if got.Complete || got.Any || (want == "") != (len(got.Conflicts) == 0) || !strings.Contains(strings.Join(got.Conflicts, " "), want) {
			t.Errorf("%s: %+v, want a conflict that says %q", host, got, want)
		}
	}
	if got := claims(worldOf("b", shared("a", "b")), listener("b.example")); !got.Complete || !got.Any {
		t.Errorf("the share as planned: %+v", got)
	}
	if got := claims(worldOf("b", shared("a", "b")), listener("c.example")); got.Complete || !got.Any || len(got.Conflicts) > 0 {
		t.Errorf("the share of another plan: %+v, want one that is ours and to be claimed anew", got)
	}
}

func TestTheStaticServiceStandsInTheWayOfThoseWhoseTargetItIsNot(t *testing.T) {
	t.Parallel()
	edge := corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ingress", Name: "edge"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}, {Port: 53, Protocol: corev1.ProtocolUDP}}},
		Status:     corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "192.0.2.9"}}}},
	}
	w := worldOf("a")
	w.Policy = &v1alpha1.MigrationPolicy{Spec: v1alpha1.MigrationPolicySpec{Gateway: &v1alpha1.GatewaySettings{
		StaticService: &v1alpha1.ServiceReference{Namespace: "ingress", Name: "edge"},
	}}}
	w.services = []corev1.Service{edge}
	parallel := addresspool.Claim{Address: netip.MustParseAddr("192.0.2.9"), Role: addresspool.New, EntryPoint: "a"}
	if got := addresspool.Admit(nil, uses(w), parallel); len(got) != 1 || got[0].Object != "Service ingress/edge" {
		t.Errorf("conflicts %v of a parallel Service on the static Service's address", got)
	}
	row := shared("a")
	behind := addresspool.Rows([]v1alpha1.AddressClaim{row})[0]
	if got := addresspool.Admit(nil, uses(w), behind); len(got) != 0 || !ofGateway(w, &edge) {
		t.Errorf("conflicts %v of an entry point behind the static Service", got)
	}
	if got := tcpPorts(&edge); !slices.Equal(got, []int32{80}) {
		t.Errorf("TCP ports %v", got)
	}
}
