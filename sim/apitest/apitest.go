// Package apitest holds the embedded world's API server to the behavior of a real one: the same suite runs against both.
// Every assertion is something that the walk relies on, and that was measured on kube-apiserver 1.36.
package apitest

import (
	"context"
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Run runs the suite with a client that may do everything and that the guard's policies let pass (or where they are not
// installed), in a namespace that exists. It cleans up behind itself.
func Run(t *testing.T, c client.Client, namespace string) {
	t.Helper()
	for _, x := range append(serviceCases(), kindCases()...) {
		t.Run(x.name, func(t *testing.T) {
			x.run(&bed{T: t, c: c, namespace: namespace})
		})
	}
}

type testCase struct {
	name string
	run  func(b *bed)
}

// bed is one test's client.
type bed struct {
	*testing.T

	c         client.Client
	namespace string
}

// op is one operation of a JSON Patch.
type op struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// service is a ClusterIP Service with one address.
func (b *bed) service(name string, change ...func(*corev1.Service)) *corev1.Service {
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name},
		Spec: corev1.ServiceSpec{
			ExternalIPs: []string{"192.0.2.200"}, Selector: map[string]string{"app": name},
			Ports: []corev1.ServicePort{{Name: "http", Port: 80}},
		},
	}
	for _, f := range change {
		f(svc)
	}
	return svc
}

func local(s *corev1.Service) {
	s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
}
func bare(s *corev1.Service)     { s.Spec.ExternalIPs = nil }
func nodePort(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort }

func addressed(text string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.ExternalIPs = []string{text} }
}

// create stores an object and removes it when the test ends.
func (b *bed) create(obj client.Object) {
	b.Helper()
	if err := b.c.Create(b.Context(), obj); err != nil {
		b.Fatalf("create: %v", err)
	}
	b.Cleanup(func() { b.remove(obj) })
}

func (b *bed) remove(obj client.Object) {
	// A test's context is over when its cleanups run.
	if err := b.c.Delete(context.WithoutCancel(b.Context()), obj); err != nil {
		b.Errorf("cleaning up: %v", err)
	}
}

// refused wants an error that is tells.
func (b *bed) refused(err error, is func(error) bool, what string) {
	b.Helper()
	if err == nil || !is(err) {
		b.Fatalf("%s: got %v", what, err)
	}
}

func (b *bed) patch(svc *corev1.Service, ops ...op) error {
	b.Helper()
	body, err := json.Marshal(ops)
	if err != nil {
		b.Fatal(err)
	}
	return b.c.Patch(b.Context(), svc, client.RawPatch(types.JSONPatchType, body))
}

func (b *bed) mustPatch(svc *corev1.Service, ops ...op) {
	b.Helper()
	if err := b.patch(svc, ops...); err != nil {
		b.Fatalf("patch: %v", err)
	}
	b.read(svc)
}

func (b *bed) read(obj client.Object) {
	b.Helper()
	if err := b.c.Get(b.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
		b.Fatalf("get: %v", err)
	}
}

// policy wants an external traffic policy, "" for none.
func (b *bed) policy(svc *corev1.Service, want corev1.ServiceExternalTrafficPolicy) {
	b.Helper()
	if svc.Spec.ExternalTrafficPolicy != want {
		b.Fatalf("externalTrafficPolicy %q, want %q", svc.Spec.ExternalTrafficPolicy, want)
	}
}
