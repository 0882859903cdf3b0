package migration

import (
	"net/netip"
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
)

func TestTakeSnapshotIsACopyInStableOrder(t *testing.T) {
	t.Parallel()
	web := service(func(s *corev1.Service) { s.Annotations = map[string]string{lastApplied: "{}", "keep": "1"} })
	api := service(func(s *corev1.Service) { s.Name = "api" })
	names := []dnsctl.Name{{Name: "b.example"}, {Name: "a.example", Old: []netip.Addr{netip.MustParseAddr("203.0.113.10")}}}
	s := TakeSnapshot([]*corev1.Service{web, nil, api}, names, time.Unix(0, 0))
	if len(s.Services) != 2 || s.Services[0].Name != "api" || s.Names[0].Name != "a.example" {
		t.Fatalf("order: %+v", s)
	}
	if want := map[string]string{"keep": "1"}; !reflect.DeepEqual(s.Services[1].Annotations, want) {
		t.Errorf("annotations %v, want %v", s.Services[1].Annotations, want)
	}
	web.Spec.ExternalIPs[0], web.Annotations["keep"], names[1].Old[0] = "x", "2", netip.Addr{}
	if s.Services[1].Spec.ExternalIPs[0] != "203.0.113.10" || s.Services[1].Annotations["keep"] != "1" || !s.Names[0].Old[0].IsValid() {
		t.Errorf("the snapshot shares memory with its input: %+v", s)
	}
	if web.Annotations[lastApplied] != "{}" {
		t.Error("the input was changed")
	}
}

func TestBeforeShowsEditsThatTheWalkDidNotMake(t *testing.T) {
	t.Parallel()
	snap := TakeSnapshot([]*corev1.Service{service(func(s *corev1.Service) { s.Spec.ExternalTrafficPolicy = local })}, nil, time.Unix(0, 0))
	mark := map[string]string{v1alpha1.AnnotationReleased: "r/1"}
	for name, c := range map[string]struct {
		live func(*corev1.Service)
		want func(*corev1.Service)
	}{
		"another address, before release, stays": {
			func(s *corev1.Service) {
				s.Spec.ExternalIPs, s.Spec.ExternalTrafficPolicy = []string{"192.0.2.9"}, local
			},
			func(s *corev1.Service) {
				s.Spec.ExternalIPs, s.Spec.ExternalTrafficPolicy = []string{"192.0.2.9"}, local
			},
		},
		"the field is laid over where we took it": {
			func(s *corev1.Service) { s.Spec.ExternalIPs, s.Annotations = nil, mark },
			func(s *corev1.Service) { s.Spec.ExternalTrafficPolicy = local },
		},
		"the field is laid over where our mark was lost": {
			func(s *corev1.Service) { s.Spec.ExternalIPs = nil },
			func(s *corev1.Service) { s.Spec.ExternalTrafficPolicy = local },
		},
		"a new port after release stays": {
			func(s *corev1.Service) { s.Spec.ExternalIPs, s.Annotations, s.Spec.Ports[0].Port = nil, mark, 22 },
			func(s *corev1.Service) { s.Spec.ExternalTrafficPolicy, s.Spec.Ports[0].Port = local, 22 },
		},
		"a traffic policy that somebody changed after release stays": {
			func(s *corev1.Service) {
				s.Spec.ExternalIPs, s.Annotations, s.Spec.ExternalTrafficPolicy = nil, mark, corev1.ServiceExternalTrafficPolicyCluster
			},
			func(s *corev1.Service) { s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster },
		},
		"what adoption brought is gone, node ports that somebody asked for since too": {
			func(s *corev1.Service) {
				s.Spec.Type, s.Spec.LoadBalancerClass = corev1.ServiceTypeLoadBalancer, new(v1alpha1.ClassAdopted)
				s.Spec.AllocateLoadBalancerNodePorts, s.Spec.Ports[0].NodePort = new(true), 30080
				s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort = local, 30081
				s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.10"}}
			},
			func(s *corev1.Service) { s.Spec.ExternalTrafficPolicy = local },
		},
		"a recreated Service is what it is": {
			func(s *corev1.Service) { s.Spec.ExternalIPs, s.UID = nil, "u2" },
			func(s *corev1.Service) { s.Spec.ExternalIPs, s.UID = nil, "u2" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := service(c.live)
			kept := live.DeepCopy()
			if got, want := Before(live, snap), service(c.want); !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
			if !reflect.DeepEqual(live, kept) {
				t.Error("the live object was changed")
			}
		})
	}
}

func TestBeforeWithoutASnapshotIsTheLiveObject(t *testing.T) {
	t.Parallel()
	if got := Before(service(nil), nil); !reflect.DeepEqual(got, service(nil)) {
		t.Errorf("got %+v", got)
	}
	if Before(nil, nil) != nil {
		t.Error("no Service became one")
	}
}
