package apitest

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/api/v1alpha1"
)

func serviceCases() []testCase {
	return slices.Concat(policyCases(), patchCases(), adoptionCases(), adoptedCases())
}

func policyCases() []testCase {
	remove := []op{{Op: "test", Path: "/spec/externalIPs", Value: []string{"192.0.2.200"}}, {Op: "remove", Path: "/spec/externalIPs"}}
	return []testCase{
		{"an external traffic policy without externalIPs is refused", func(b *bed) {
			b.refused(b.c.Create(b.Context(), b.service("etp-bare", bare, local)), apierrors.IsInvalid, "want 422")
		}},
		{"externalIPs bring the policy Cluster and a cluster address", func(b *bed) {
			svc := b.service("etp-default")
			b.create(svc)
			b.policy(svc, corev1.ServiceExternalTrafficPolicyCluster)
			if svc.Spec.ClusterIP == "" || len(svc.Spec.ClusterIPs) != 1 || svc.Spec.Type != corev1.ServiceTypeClusterIP {
				b.Fatalf("spec %+v", svc.Spec)
			}
		}},
		{"removing externalIPs drops the policy in the same request", func(b *bed) {
			svc := b.service("etp-drop", local)
			b.create(svc)
			b.mustPatch(svc, remove...)
			b.policy(svc, "")
		}},
		{"externalIPs put back alone bring back Cluster, not Local", func(b *bed) {
			svc := b.service("etp-back", local)
			b.create(svc)
			b.mustPatch(svc, remove...)
			b.mustPatch(svc, op{Op: "add", Path: "/spec/externalIPs", Value: []string{"192.0.2.200"}})
			b.policy(svc, corev1.ServiceExternalTrafficPolicyCluster)
		}},
		{"externalIPs and policy put back in one patch are as asked", func(b *bed) {
			svc := b.service("etp-both", local)
			b.create(svc)
			b.mustPatch(svc, remove...)
			b.mustPatch(svc, op{Op: "add", Path: "/spec/externalIPs", Value: []string{"192.0.2.200"}},
				op{Op: "add", Path: "/spec/externalTrafficPolicy", Value: "Local"})
			b.policy(svc, corev1.ServiceExternalTrafficPolicyLocal)
		}},
		{"a NodePort Service keeps its policy and its port", func(b *bed) {
			svc := b.service("etp-nodeport", nodePort, local)
			b.create(svc)
			port := svc.Spec.Ports[0].NodePort
			b.mustPatch(svc, remove...)
			b.policy(svc, corev1.ServiceExternalTrafficPolicyLocal)
			if port == 0 || svc.Spec.Ports[0].NodePort != port {
				b.Fatalf("node port %d, then %d", port, svc.Spec.Ports[0].NodePort)
			}
		}},
	}
}

func patchCases() []testCase {
	cases := []testCase{
		{"a failed test of a JSON Patch is 422", func(b *bed) {
			svc := b.service("patch-test")
			b.create(svc)
			b.refused(b.patch(svc, op{Op: "test", Path: "/spec/externalIPs", Value: []string{"192.0.2.201"}},
				op{Op: "remove", Path: "/spec/externalIPs"}), apierrors.IsInvalid, "want 422")
		}},
		{"removing a path that is not there is 422", func(b *bed) {
			svc := b.service("patch-absent", bare)
			b.create(svc)
			b.refused(b.patch(svc, op{Op: "remove", Path: "/spec/externalIPs"}), apierrors.IsInvalid, "want 422")
		}},
		{"an old resourceVersion in a JSON Patch is 409", func(b *bed) {
			svc := b.service("patch-stale")
			b.create(svc)
			old := svc.ResourceVersion
			b.mustPatch(svc, op{Op: "add", Path: "/metadata/labels", Value: map[string]string{"a": "b"}})
			b.refused(b.patch(svc, op{Op: "replace", Path: "/metadata/resourceVersion", Value: old},
				op{Op: "remove", Path: "/spec/externalIPs"}), apierrors.IsConflict, "want 409")
		}},
	}
	for name, text := range map[string]string{
		"a leading zero is refused": "010.0.0.5", "an IPv4-mapped address is refused": "::ffff:192.0.2.1",
		"two words are refused": "a b", "a range is refused": "192.0.2.0/32", "loopback is refused": "127.0.0.1",
	} {
		cases = append(cases, testCase{name, func(b *bed) {
			b.refused(b.c.Create(b.Context(), b.service("address", addressed(text))), apierrors.IsInvalid, "want 422")
		}})
	}
	return cases
}

func adopt() []op {
	return []op{
		{Op: "replace", Path: "/spec/type", Value: "LoadBalancer"},
		{Op: "add", Path: "/spec/loadBalancerClass", Value: v1alpha1.ClassAdopted},
		{Op: "add", Path: "/spec/allocateLoadBalancerNodePorts", Value: false},
	}
}

func (b *bed) ingress(svc *corev1.Service) error {
	return b.c.Status().Patch(b.Context(), svc,
		client.RawPatch(types.MergePatchType, []byte(`{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.200"}]}}}`)))
}

func adoptionCases() []testCase {
	return []testCase{
		{"an ingress of a Service that is no LoadBalancer is refused", func(b *bed) {
			svc := b.service("lb-early")
			b.create(svc)
			b.refused(b.ingress(svc), apierrors.IsInvalid, "want 422")
		}},
		{"a class without the type is refused", func(b *bed) {
			svc := b.service("lb-class")
			b.create(svc)
			b.refused(b.patch(svc, adopt()[1]), apierrors.IsInvalid, "want 422")
		}},
		{"adoption is one patch that keeps the policy and takes no node port", func(b *bed) {
			svc := b.service("lb-adopt", local)
			b.create(svc)
			b.mustPatch(svc, adopt()...)
			b.policy(svc, corev1.ServiceExternalTrafficPolicyLocal)
			if svc.Spec.Ports[0].NodePort != 0 || svc.Spec.HealthCheckNodePort == 0 {
				b.Fatalf("node port %d, health check port %d", svc.Spec.Ports[0].NodePort, svc.Spec.HealthCheckNodePort)
			}
		}},
		{"after the ingress the field can go and the policy stays", func(b *bed) {
			svc := b.adopted("lb-release")
			b.mustPatch(svc, op{Op: "remove", Path: "/spec/externalIPs"})
			b.policy(svc, corev1.ServiceExternalTrafficPolicyLocal)
			in := svc.Status.LoadBalancer.Ingress
			if len(in) != 1 || in[0].IP != "192.0.2.200" || in[0].IPMode == nil || *in[0].IPMode != corev1.LoadBalancerIPModeVIP {
				b.Fatalf("ingress %+v", in)
			}
		}},
	}
}

func adoptedCases() []testCase {
	return []testCase{
		{"the class cannot be changed while the type stays", func(b *bed) {
			svc := b.adopted("lb-immutable")
			b.refused(b.patch(svc, op{Op: "replace", Path: "/spec/loadBalancerClass", Value: "example.com/other"}), apierrors.IsInvalid, "want 422")
			b.refused(b.patch(svc, op{Op: "remove", Path: "/spec/loadBalancerClass"}), apierrors.IsInvalid, "want 422")
		}},
		{"the way back is one patch, and the server clears the rest", func(b *bed) {
			svc := b.adopted("lb-back")
			b.mustPatch(svc, op{Op: "remove", Path: "/spec/externalIPs"})
			b.mustPatch(svc, op{Op: "replace", Path: "/spec/type", Value: "ClusterIP"},
				op{Op: "add", Path: "/spec/externalIPs", Value: []string{"192.0.2.200"}})
			b.policy(svc, corev1.ServiceExternalTrafficPolicyLocal)
			s := svc.Spec
			if s.LoadBalancerClass != nil || s.HealthCheckNodePort != 0 || s.AllocateLoadBalancerNodePorts != nil ||
				len(svc.Status.LoadBalancer.Ingress) != 0 {
				b.Fatalf("left over: %+v %+v", s, svc.Status)
			}
		}},
		{"leaving the type without the field drops the policy too", func(b *bed) {
			svc := b.adopted("lb-leave")
			b.mustPatch(svc, op{Op: "remove", Path: "/spec/externalIPs"})
			b.mustPatch(svc, op{Op: "replace", Path: "/spec/type", Value: "ClusterIP"})
			b.policy(svc, "")
		}},
	}
}

// adopted is a Service with our class and its old address as ingress.
func (b *bed) adopted(name string) *corev1.Service {
	b.Helper()
	svc := b.service(name, local)
	b.create(svc)
	b.mustPatch(svc, adopt()...)
	if err := b.ingress(svc); err != nil {
		b.Fatalf("ingress: %v", err)
	}
	b.read(svc)
	return svc
}
