package migration

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
)

const local = corev1.ServiceExternalTrafficPolicyLocal

func service(edit func(*corev1.Service)) *corev1.Service {
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u1"},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.96.0.7", Selector: map[string]string{"app": "web"},
			Ports:       []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}},
			ExternalIPs: []string{"203.0.113.10"},
		},
	}
	if edit != nil {
		edit(svc)
	}
	return svc
}

// adoptionOf is the part of a plan that adoption reads.
func adoptionOf(svc *corev1.Service) *Plan {
	p := &Plan{Members: []Member{{Namespace: svc.Namespace, Name: svc.Name, UID: string(svc.UID)}}}
	for _, text := range svc.Spec.ExternalIPs {
		addr, _, err := addresspool.Canonical(text)
		if err != nil {
			continue
		}
		p.Claims = append(p.Claims, addresspool.Claim{
			Address: addr, Role: addresspool.Adopted, Holders: []addresspool.Holder{{Namespace: svc.Namespace, Name: svc.Name}},
		})
	}
	return p
}

// touched are the fields that a walk touches, with addresses in canonical spelling.
type touched struct {
	Type        corev1.ServiceType
	Addresses   []string
	Policy      corev1.ServiceExternalTrafficPolicy
	Class       *string
	Allocate    *bool
	Health      int32
	Ranges      []string
	Ports       []corev1.ServicePort
	Annotations map[string]string
	Ingress     []corev1.LoadBalancerIngress
}

func touchedOf(svc *corev1.Service) touched {
	s := svc.DeepCopy()
	out := touched{
		Type: s.Spec.Type, Policy: s.Spec.ExternalTrafficPolicy, Class: s.Spec.LoadBalancerClass,
		Allocate: s.Spec.AllocateLoadBalancerNodePorts, Health: s.Spec.HealthCheckNodePort, Ranges: s.Spec.LoadBalancerSourceRanges,
		Ports: s.Spec.Ports, Annotations: map[string]string{}, Ingress: s.Status.LoadBalancer.Ingress,
	}
	for _, text := range s.Spec.ExternalIPs {
		out.Addresses = append(out.Addresses, spelling(text))
	}
	maps.Copy(out.Annotations, s.Annotations)
	return out
}

func randomService(r *rand.Rand) *corev1.Service {
	pool := []string{"203.0.113.10", "203.0.113.11", "010.0.0.5", "::ffff:192.0.2.1", "2001:DB8::1", "2001:db8:0:0:0:0:0:2", "203.0.113.10"}
	return service(func(s *corev1.Service) {
		s.Spec.ExternalIPs = nil
		for range 1 + r.IntN(3) {
			s.Spec.ExternalIPs = append(s.Spec.ExternalIPs, pool[r.IntN(len(pool))])
		}
		if r.IntN(2) == 0 {
			s.Spec.ExternalTrafficPolicy = local
		}
		if r.IntN(2) == 0 {
			s.Annotations = map[string]string{"a/b~c": "x"}
		}
		if r.IntN(2) == 0 {
			s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "dns", Port: 80, Protocol: corev1.ProtocolUDP})
		}
		randomType(r, s)
	})
}

func randomType(r *rand.Rand, s *corev1.Service) {
	switch r.IntN(5) {
	case 0:
		s.Spec.Type = corev1.ServiceTypeNodePort
	case 1:
		s.Spec.Type = corev1.ServiceTypeLoadBalancer
		s.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"}
	case 2:
		class, no := "metallb.io/x", false
		s.Spec.Type, s.Spec.LoadBalancerClass, s.Spec.AllocateLoadBalancerNodePorts = corev1.ServiceTypeLoadBalancer, &class, &no
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "198.51.100.9"}}
	}
}

func TestRestoreOfAnyReleasedServiceIsTheServiceAsItWas(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		api := &apiServer{}
		before := api.create(randomService(r))
		snap := TakeSnapshot([]*corev1.Service{before}, nil, time.Unix(0, 0))
		live := release(t, api, before)
		if got, want := touchedOf(Before(live, snap)), touchedOf(before); !reflect.DeepEqual(got, want) {
			t.Fatalf("run %d: Before = %+v, want %+v", i, got, want)
		}
		live = must(t)(api.patch(live, RestorePatch(live, snap.Services[0])))
		if got, want := touchedOf(live), touchedOf(before); !reflect.DeepEqual(got, want) {
			t.Fatalf("run %d: restored to %+v, want %+v", i, got, want)
		}
		if again := RestorePatch(live, snap.Services[0]); again != nil {
			t.Fatalf("run %d: a restored Service gets another patch: %v", i, again)
		}
	}
}

func release(t *testing.T, api *apiServer, svc *corev1.Service) *corev1.Service {
	t.Helper()
	live := must(t)(api.patch(svc, ReleasePatch(svc, "shop-web-1", 3)))
	if len(live.Spec.ExternalIPs) != 0 {
		t.Fatalf("the field is still there: %v", live.Spec.ExternalIPs)
	}
	if record, attempt, ok := ReleasedBy(live); !ok || record != "shop-web-1" || attempt != 3 {
		t.Fatalf("mark reads %q %d %v", record, attempt, ok)
	}
	return live
}

func TestTheWayBackFromEveryPlaceOfAnAdoptionIsTheServiceAsItWas(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	adopted := 0
	for i := range 2000 {
		api := &apiServer{}
		before := api.create(randomService(r))
		if adoptFault(before) != "" {
			if ops := AdoptPatch(before, adoptionOf(before)); ops != nil {
				t.Fatalf("run %d: a Service that cannot be adopted gets %v", i, ops)
			}
			continue
		}
		adopted++
		checkAdoption(t, api, before, r.IntN(4))
	}
	if adopted < 500 {
		t.Fatalf("only %d runs adopted anything", adopted)
	}
}

// checkAdoption walks to place 0 (adopted), 1 (ingress written), 2 (released) or 3 (released and restored) and back.
func checkAdoption(t *testing.T, api *apiServer, before *corev1.Service, place int) {
	t.Helper()
	snap := TakeSnapshot([]*corev1.Service{before}, nil, time.Unix(0, 0))
	plan := adoptionOf(before)
	live := must(t)(api.patch(before, AdoptPatch(before, plan)))
	if got := Adopted(live, plan); got.Exact || !got.Any {
		t.Fatalf("without ingress: %+v", got)
	}
	if place > 0 {
		live = must(t)(api.status(live, AdoptStatus(live, plan)))
		if got := Adopted(live, plan); !got.Exact || got.Difference != "" {
			t.Fatalf("adopted: %+v", got)
		}
	}
	if place > 1 {
		live = release(t, api, live)
		if got := Adopted(live, plan); !got.Exact || live.Spec.ExternalTrafficPolicy != before.Spec.ExternalTrafficPolicy {
			t.Fatalf("released: %+v, policy %s", got, live.Spec.ExternalTrafficPolicy)
		}
	}
	if place > 2 {
		live = must(t)(api.patch(live, RestorePatch(live, snap.Services[0])))
	}
	compareBack(t, api, live, before, snap)
}

func compareBack(t *testing.T, api *apiServer, live, before *corev1.Service, snap *Snapshot) {
	t.Helper()
	want := touchedOf(before)
	if got := touchedOf(Before(live, snap)); !reflect.DeepEqual(got, want) {
		t.Fatalf("Before = %+v, want %+v", got, want)
	}
	live = must(t)(api.patch(live, UnadoptPatch(live, snap.Services[0])))
	if got := touchedOf(live); !reflect.DeepEqual(got, want) {
		t.Fatalf("back at %+v, want %+v", got, want)
	}
	if ops := UnadoptPatch(live, snap.Services[0]); ops != nil {
		t.Fatalf("a Service that is back gets another patch: %v", ops)
	}
}

func TestReleasePatchIsRefusedWhenTheServiceChanged(t *testing.T) {
	t.Parallel()
	api := &apiServer{}
	read := api.create(service(nil))
	newer := read.DeepCopy()
	api.stamp(newer)
	if _, err := api.patch(newer, ReleasePatch(read, "r", 1)); !errors.Is(err, errConflict) {
		t.Errorf("a newer Service: %v, want a conflict", err)
	}
	other := read.DeepCopy()
	other.Spec.ExternalIPs = []string{"203.0.113.10", "203.0.113.99"}
	if _, err := api.patch(other, ReleasePatch(read, "r", 1)); !errors.Is(err, errInvalid) {
		t.Errorf("another list: %v, want invalid", err)
	}
}

func TestReleasePatchText(t *testing.T) {
	t.Parallel()
	svc := service(func(s *corev1.Service) { s.ResourceVersion, s.Annotations = "7", map[string]string{"x": "y"} })
	const want = `[{"op":"replace","path":"/metadata/resourceVersion","value":"7"},` +
		`{"op":"test","path":"/spec/externalIPs","value":["203.0.113.10"]},{"op":"remove","path":"/spec/externalIPs"},` +
		`{"op":"add","path":"/metadata/annotations/offramp.dev~1released","value":"shop-web-1/2"}]`
	got, err := json.Marshal(ReleasePatch(svc, "shop-web-1", 2))
	if err != nil || string(got) != want {
		t.Errorf("got  %s %v\nwant %s", got, err, want)
	}
	if ops := ReleasePatch(service(func(s *corev1.Service) { s.Spec.ExternalIPs = nil }), "r", 1); ops != nil {
		t.Errorf("without the field: %v, want no patch", ops)
	}
}

func TestRestorePatchNeedsOurMarkAndKeepsWhatOthersAdded(t *testing.T) {
	t.Parallel()
	api := &apiServer{}
	before := api.create(service(nil))
	snap := TakeSnapshot([]*corev1.Service{before}, nil, time.Unix(0, 0)).Services[0]
	bare := before.DeepCopy()
	bare.Spec.ExternalIPs = nil
	if ops := RestorePatch(bare, snap); ops != nil {
		t.Errorf("without our mark: %v, want no patch", ops)
	}
	live := release(t, api, before)
	live.Spec.ExternalIPs = []string{"203.0.113.77", "203.0.113.10"}
	live = must(t)(api.patch(live, RestorePatch(live, snap)))
	if want := []string{"203.0.113.10", "203.0.113.77"}; !reflect.DeepEqual(live.Spec.ExternalIPs, want) {
		t.Errorf("externalIPs %v, want %v", live.Spec.ExternalIPs, want)
	}
}

func TestRestorePatchPinsTheHealthCheckPortOfABalancerThatBecomesLocalAgain(t *testing.T) {
	t.Parallel()
	api := &apiServer{}
	before := api.create(service(func(s *corev1.Service) {
		s.Spec.Type, s.Spec.ExternalTrafficPolicy = corev1.ServiceTypeLoadBalancer, local
	}))
	snap := TakeSnapshot([]*corev1.Service{before}, nil, time.Unix(0, 0)).Services[0]
	live := release(t, api, before)
	live = must(t)(api.patch(live, []PatchOp{{Op: "replace", Path: pathPolicy, Value: "Cluster"}}))
	live = must(t)(api.patch(live, RestorePatch(live, snap)))
	if live.Spec.HealthCheckNodePort != before.Spec.HealthCheckNodePort {
		t.Errorf("health check port %d, want %d", live.Spec.HealthCheckNodePort, before.Spec.HealthCheckNodePort)
	}
}

func TestRestorePatchLeavesAHealthCheckPortThatIsImmutableNow(t *testing.T) {
	t.Parallel()
	api := &apiServer{}
	before := api.create(service(func(s *corev1.Service) {
		s.Spec.Type, s.Spec.ExternalTrafficPolicy = corev1.ServiceTypeLoadBalancer, local
	}))
	snap := TakeSnapshot([]*corev1.Service{before}, nil, time.Unix(0, 0)).Services[0]
	live := release(t, api, before)
	live.Spec.HealthCheckNodePort = 31111
	live = must(t)(api.patch(live, RestorePatch(live, snap)))
	if live.Spec.HealthCheckNodePort != 31111 || len(live.Spec.ExternalIPs) != 1 {
		t.Errorf("restored to %+v", live.Spec)
	}
}

func TestAdoptPatchAsksForNodePortsOnlyWhereTheServiceHadSome(t *testing.T) {
	t.Parallel()
	for kind, want := range map[corev1.ServiceType]bool{corev1.ServiceTypeClusterIP: false, corev1.ServiceTypeNodePort: true, "": false} {
		svc := service(func(s *corev1.Service) { s.Spec.Type = kind })
		ops := AdoptPatch(svc, adoptionOf(svc))
		if last := ops[len(ops)-1]; last.Path != pathAllocate || last.Value != want {
			t.Errorf("type %q: %+v, want %v", kind, last, want)
		}
	}
}

func TestUnadoptPatchGivesLostNodePortsBackAndDropsForeignSourceRanges(t *testing.T) {
	t.Parallel()
	api := &apiServer{}
	before := api.create(service(func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort }))
	snap := TakeSnapshot([]*corev1.Service{before}, nil, time.Unix(0, 0)).Services[0]
	plan := adoptionOf(before)
	live := must(t)(api.patch(before, AdoptPatch(before, plan)))
	live.Spec.Ports[0].NodePort = 31999
	live.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"}
	live = must(t)(api.patch(live, UnadoptPatch(live, snap)))
	if got, want := touchedOf(live), touchedOf(before); !reflect.DeepEqual(got, want) {
		t.Errorf("back at %+v, want %+v", got, want)
	}
}

func TestAdoptionGivesEachServiceOnlyTheAddressesItHeld(t *testing.T) {
	t.Parallel()
	web, mail := service(nil), service(func(s *corev1.Service) { s.Name, s.UID = "mail", "u2" })
	plan := adoptionOf(web)
	plan.Members = append(plan.Members, Member{Namespace: "shop", Name: "mail", UID: "u2"})
	plan.Claims = append(plan.Claims, addresspool.Claim{
		Address: netip.MustParseAddr("2001:db8::25"), Role: addresspool.Adopted, Holders: []addresspool.Holder{{Namespace: "shop", Name: "mail"}},
	}, addresspool.Claim{
		Address: netip.MustParseAddr("203.0.113.12"), Role: addresspool.Old, Holders: []addresspool.Holder{{Namespace: "shop", Name: "mail"}},
	})
	for svc, want := range map[*corev1.Service]string{
		web:  `{"status":{"loadBalancer":{"ingress":[{"ip":"203.0.113.10"}]}}}`,
		mail: `{"status":{"loadBalancer":{"ingress":[{"ip":"2001:db8::25"}]}}}`,
	} {
		if got := string(AdoptStatus(svc, plan)); got != want {
			t.Errorf("%s: %s, want %s", svc.Name, got, want)
		}
	}
	stranger := service(func(s *corev1.Service) { s.UID = types.UID("u9") })
	if ops := AdoptPatch(stranger, plan); ops != nil {
		t.Errorf("a recreated Service gets %v", ops)
	}
}

func TestAdoptedNamesWhatDiffers(t *testing.T) {
	t.Parallel()
	class := v1alpha1.ClassAdopted
	for name, c := range map[string]struct {
		edit func(*corev1.Service)
		want Target
	}{
		"a Service that is still a ClusterIP is not adopted at all": {
			nil, Target{Difference: "Service shop/web spec.type is ClusterIP, not LoadBalancer of class offramp.dev/adopted"},
		},
		"a foreign class is not ours": {
			func(s *corev1.Service) {
				other := "x/y"
				s.Spec.Type, s.Spec.LoadBalancerClass = "LoadBalancer", &other
			},
			Target{Difference: "Service shop/web spec.type is LoadBalancer, not LoadBalancer of class offramp.dev/adopted"},
		},
		"a host name in the ingress is a difference": {
			func(s *corev1.Service) {
				s.Spec.Type, s.Spec.LoadBalancerClass = "LoadBalancer", &class
				s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "a.b"}}
			},
			Target{Any: true, Difference: "Service shop/web status.loadBalancer.ingress is [invalid IP], the plan says [203.0.113.10]"},
		},
		"a recreated Service is no member": {
			func(s *corev1.Service) { s.UID = "u2" },
			Target{Difference: "Service shop/web is no member of the plan, or was recreated since"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Adopted(service(c.edit), adoptionOf(service(nil))); got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestReleasedByRefusesMarksThatAreNotOurs(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "x", "x/", "/1", "x/0", "x/-1", "x/1/2", "x/99999999999999999999"} {
		svc := service(func(s *corev1.Service) { s.Annotations = map[string]string{v1alpha1.AnnotationReleased: text} })
		if record, attempt, ok := ReleasedBy(svc); ok {
			t.Errorf("%q reads as %s/%d", text, record, attempt)
		}
	}
}

func ExampleRestorePatch() {
	live := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: "8", Annotations: map[string]string{v1alpha1.AnnotationReleased: "shop-web-1/1"},
	}}
	was := ServiceSnapshot{Spec: corev1.ServiceSpec{ExternalIPs: []string{"010.0.0.5"}, ExternalTrafficPolicy: local}}
	for _, op := range RestorePatch(live, was) {
		fmt.Println(op.Op, op.Path)
	}
	// Output:
	// replace /metadata/resourceVersion
	// test /metadata/annotations/offramp.dev~1released
	// add /spec/externalIPs
	// add /spec/externalTrafficPolicy
	// remove /metadata/annotations/offramp.dev~1released
}
