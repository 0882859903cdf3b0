package gateway_test

import (
	"maps"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"offramp.dev/gateway"
)

func expectHealth(t *testing.T, got gateway.Health, reason string, known bool, message string) {
	t.Helper()
	if got.Reason != reason || got.Known != known || got.Programmed != (reason == gateway.HealthProgrammed) {
		t.Errorf("got %+v, want reason %s, known %v", got, reason, known)
	}
	if !strings.Contains(got.Message, message) {
		t.Errorf("message %q lacks %q", got.Message, message)
	}
}

func TestReadSaysProgrammedWhenEverythingIsServedOnThePinnedAddresses(t *testing.T) {
	t.Parallel()
	for name, addresses := range map[string][]string{
		"http":            {"198.51.100.10"},
		"mixed-ports":     {"198.51.100.10"},
		"tcp-v1alpha2":    {"198.51.100.10"},
		"dual-stack":      {"2001:0DB8:0::10", "198.51.100.10"},
		"lb":              {"198.51.100.10"},
		"lb-two-services": {"198.51.100.10"},
	} {
		want, pinned := converted(t, name)
		got := gateway.Read(want, served(want, addresses...), pinned)
		expectHealth(t, got, gateway.HealthProgrammed, true, "")
		if len(got.Addresses) != len(pinned) {
			t.Errorf("%s: addresses %v", name, got.Addresses)
		}
	}
}

func TestReadFindsAnObjectThatIsServedInAnotherVersion(t *testing.T) {
	t.Parallel()
	want, pinned := converted(t, "tcp-v1alpha2")
	live := served(want, "198.51.100.10")
	pick(t, live, "TCPRoute").SetAPIVersion("gateway.networking.k8s.io/v1")
	expectHealth(t, gateway.Read(want, live, pinned), gateway.HealthProgrammed, true, "")
}

// TestReadOfAGateway takes one thing away, or breaks it, in a world that was good.
func TestReadOfAGateway(t *testing.T) {
	t.Parallel()
	all := conditionCases()
	maps.Copy(all, listenerCases())
	maps.Copy(all, serviceCases())
	maps.Copy(all, routeCases())
	for name, tt := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, pinned := converted(t, "http")
			live := served(want, "198.51.100.10")
			tt.change(t, live)
			expectHealth(t, gateway.Read(want, live, pinned), tt.reason, tt.known, tt.message)
		})
	}
}

func TestReadIsNeverHealthyWhenAnyObjectIsMissing(t *testing.T) {
	t.Parallel()
	want, pinned := converted(t, "mixed-ports")
	live := served(want, "198.51.100.10")
	for i := range live {
		rest := append(append(objects{}, live[:i]...), live[i+1:]...)
		expectHealth(t, gateway.Read(want, rest, pinned), gateway.HealthPending, false, "not exist yet")
	}
	expectHealth(t, gateway.Read(want, live, nil), gateway.HealthPending, false, "no pinned address")
	expectHealth(t, gateway.Read(nil, live, pinned), gateway.HealthPending, false, "no target object")
	expectHealth(t, gateway.Read(want, objects{nil, {}}, pinned), gateway.HealthPending, false, "not exist yet")
}

func TestReadTakesNoOtherGatewaysServiceForEvidence(t *testing.T) {
	t.Parallel()
	want, pinned := converted(t, "http")
	live := served(want, "198.51.100.10")
	pick(t, live, "Service").SetLabels(map[string]string{"gateway.networking.k8s.io/gateway-name": "other"})
	expectHealth(t, gateway.Read(want, live, pinned), gateway.HealthPending, false, "does not exist yet")
}

func TestReadFindsEnvoyGatewaysServiceInItsOwnNamespace(t *testing.T) {
	t.Parallel()
	want, pinned := converted(t, "http")
	live := served(want, "198.51.100.10")
	svc := pick(t, live, "Service")
	svc.SetNamespace("envoy-gateway-system")
	owner := func(namespace string) map[string]string {
		return map[string]string{
			"gateway.envoyproxy.io/owning-gateway-name":      "http-1a2b3c4d",
			"gateway.envoyproxy.io/owning-gateway-namespace": namespace,
		}
	}
	svc.SetLabels(owner("gateways"))
	expectHealth(t, gateway.Read(want, live, pinned), gateway.HealthProgrammed, true, "")
	svc.SetLabels(owner("elsewhere"))
	expectHealth(t, gateway.Read(want, live, pinned), gateway.HealthPending, false, "does not exist yet")
}

func TestReadOfAStaticServiceTakesTheServiceForEvidence(t *testing.T) {
	t.Parallel()
	want, pinned := converted(t, "static-service")
	live := served(want, "198.51.100.10")
	svc, gw := pick(t, live, "Service"), pick(t, live, "Gateway")
	expectHealth(t, gateway.Read(want, live, pinned), gateway.HealthPending, false, "static Service")
	svc.SetLabels(nil)
	unstructured.RemoveNestedField(gw.Object, "status", "addresses")
	expectHealth(t, gateway.Read(want, live, pinned), gateway.HealthProgrammed, true, "")
	set(t, gw, []any{map[string]any{"value": "198.51.100.99"}}, "status", "addresses")
	expectHealth(t, gateway.Read(want, live, pinned), gateway.HealthAddressMismatch, true, "holds none of the pinned")
	unstructured.RemoveNestedField(gw.Object, "status", "addresses")
	set(t, svc, ingress([]string{"198.51.100.11"}), "status")
	expectHealth(t, gateway.Read(want, live, pinned), gateway.HealthAddressMismatch, true, "lacks the pinned")
	set(t, svc, ingress([]string{"198.51.100.10", "2001:db8::10"}), "status")
	expectHealth(t, gateway.Read(want, live, pinned), gateway.HealthProgrammed, true, "")
}

func TestReadOfAParallelServiceComparesTheIngress(t *testing.T) {
	t.Parallel()
	want, pinned := converted(t, "lb")
	live := served(want, "198.51.100.11")
	got := gateway.Read(want, live, pinned)
	expectHealth(t, got, gateway.HealthAddressMismatch, true, "is not the pinned 198.51.100.10")
	if !reflect.DeepEqual(got.Addresses, []netip.Addr{netip.MustParseAddr("198.51.100.11")}) {
		t.Errorf("addresses %v", got.Addresses)
	}
}

func TestReadLeavesItsInputAlone(t *testing.T) {
	t.Parallel()
	want, pinned := converted(t, "mixed-ports")
	live, before := served(want, "198.51.100.10"), served(want, "198.51.100.10")
	gateway.Read(want, live, pinned)
	if again, _ := converted(t, "mixed-ports"); !reflect.DeepEqual(live, before) || !reflect.DeepEqual(want, again) {
		t.Error("Read changed its input")
	}
}
