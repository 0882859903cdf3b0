package controllers

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"offramp.dev/api/v1alpha1"
)

func service(name, address string, annotations map[string]string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Annotations: annotations},
		Spec:       corev1.ServiceSpec{ExternalIPs: []string{address}, Ports: []corev1.ServicePort{{Port: 80}}},
	}
}

func optIn(names ...string) map[string]string {
	out := map[string]string{v1alpha1.AnnotationPolicy: "standard"}
	if len(names) > 0 {
		out[v1alpha1.AnnotationHostnames] = names[0]
	}
	return out
}

func TestOptingIn(t *testing.T) {
	t.Parallel()
	forged := optIn()
	forged[v1alpha1.AnnotationEntryPoint] = "shop-bank-00000000"
	labeled := service("ours", "192.0.2.50", optIn())
	labeled.Labels = map[string]string{v1alpha1.LabelEntryPoint: "x"}
	cases := map[string]struct {
		services []*corev1.Service
		// members of each EntryPoint afterwards.
		want []int
	}{
		"a Service without the annotation is left alone":     {services: []*corev1.Service{service("web", "192.0.2.50", nil)}},
		"a Service that opts in gets an EntryPoint":          {services: []*corev1.Service{service("web", "192.0.2.50", optIn())}, want: []int{1}},
		"Services that share a name move together":           {services: []*corev1.Service{service("a", "192.0.2.50", optIn("www.example.com")), service("b", "192.0.2.51", optIn("www.example.com"))}, want: []int{2}},
		"a forged EntryPoint annotation is written over":     {services: []*corev1.Service{service("web", "192.0.2.50", forged)}, want: []int{1}},
		"a Service that Offramp made is no candidate":        {services: []*corev1.Service{labeled}},
		"a Service without the field has nothing to migrate": {services: []*corev1.Service{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "plain", Annotations: optIn()}}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cl := fakeClient(t, c.services)
			r := &Services{&Ports{Client: cl}}
			for range 2 { // a second pass changes nothing more
				for _, s := range c.services {
					if _, err := r.Reconcile(context.Background(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(s)}); err != nil {
						t.Fatal(err)
					}
				}
			}
			var all v1alpha1.EntryPointList
			if err := cl.List(context.Background(), &all); err != nil {
				t.Fatal(err)
			}
			var got []int
			for _, ep := range all.Items {
				got = append(got, len(ep.Spec.Members))
				if ep.Spec.Goal != v1alpha1.GoalReport {
					t.Errorf("goal %s", ep.Spec.Goal)
				}
			}
			if len(got) != len(c.want) || len(got) > 0 && got[0] != c.want[0] {
				t.Errorf("EntryPoints with %v members, want %v", got, c.want)
			}
		})
	}
}

func TestALaterJoinerDoesNotChangeAFrozenMembership(t *testing.T) {
	t.Parallel()
	a := service("a", "192.0.2.50", optIn("www.example.com"))
	cl := fakeClient(t, []*corev1.Service{a})
	r := &Services{&Ports{Client: cl}}
	passes(t, r, a)
	var all v1alpha1.EntryPointList
	if err := cl.List(context.Background(), &all); err != nil || len(all.Items) != 1 {
		t.Fatalf("%d EntryPoints (%v)", len(all.Items), err)
	}
	all.Items[0].Spec.Goal = v1alpha1.GoalStage
	if err := cl.Update(context.Background(), &all.Items[0]); err != nil {
		t.Fatal(err)
	}
	b := service("b", "192.0.2.51", optIn("www.example.com"))
	if err := cl.Create(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	passes(t, r, a)
	passes(t, r, b)
	var got v1alpha1.EntryPoint
	if err := cl.Get(context.Background(), client.ObjectKeyFromObject(&all.Items[0]), &got); err != nil {
		t.Fatalf("the walk that a human advanced is gone: %v", err)
	}
	if len(got.Spec.Members) != 1 {
		t.Errorf("members %v", got.Spec.Members)
	}
	if err := cl.List(context.Background(), &all); err != nil || len(all.Items) != 1 {
		t.Errorf("%d EntryPoints hold the Services (%v)", len(all.Items), err)
	}
}

func TestWhoCameFirstIsToldOfTheLargerGroupInTheSamePass(t *testing.T) {
	t.Parallel()
	a, b := service("a", "192.0.2.50", optIn("www.example.com")), service("b", "192.0.2.50", optIn("www.example.com"))
	cl := fakeClient(t, []*corev1.Service{a})
	r := &Services{&Ports{Client: cl}}
	passes(t, r, a)
	if err := cl.Create(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	passes(t, r, b) // nothing calls for a again: it has not changed
	names := map[string]bool{}
	for _, s := range []*corev1.Service{a, b} {
		if err := cl.Get(context.Background(), client.ObjectKeyFromObject(s), s); err != nil {
			t.Fatal(err)
		}
		names[s.Annotations[v1alpha1.AnnotationEntryPoint]] = true
	}
	if len(names) != 1 || names[""] {
		t.Errorf("the Services of one entry point carry %v", names)
	}
}

// A larger group that is found from the newcomer's side must not leave the smaller EntryPoint behind: while the fields are put
// back one after the other, the first Service would belong to the small one again.
func TestNoServiceIsLeftInTwoEntryPoints(t *testing.T) {
	t.Parallel()
	for name, goal := range map[string]v1alpha1.Goal{"before a goal is set": v1alpha1.GoalReport, "and once one is": v1alpha1.GoalRelease} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			a, b := service("a", "192.0.2.50", optIn("www.example.com")), service("b", "192.0.2.50", optIn("www.example.com"))
			cl := fakeClient(t, []*corev1.Service{a})
			r := &Services{&Ports{Client: cl}}
			passes(t, r, a)
			small := onlyEntryPoint(t, cl)
			if err := cl.Create(ctx, b); err != nil {
				t.Fatal(err)
			}
			passes(t, r, b)
			group := onlyEntryPoint(t, cl)
			if len(group.Spec.Members) != 2 {
				t.Fatalf("members %v", group.Spec.Members)
			}
			group.Spec.Goal = goal
			stale := small.DeepCopy() // as a controller that was killed in between left it
			stale.ResourceVersion = ""
			if err := errors.Join(cl.Update(ctx, group), cl.Create(ctx, stale)); err != nil {
				t.Fatal(err)
			}
			passes(t, r, a)
			if left := onlyEntryPoint(t, cl); left.Name != group.Name {
				t.Errorf("%s is left, want %s", left.Name, group.Name)
			}
			if err := cl.Get(ctx, client.ObjectKeyFromObject(a), a); err != nil || a.Annotations[v1alpha1.AnnotationEntryPoint] != group.Name {
				t.Errorf("the Service carries %s (%v)", a.Annotations[v1alpha1.AnnotationEntryPoint], err)
			}
		})
	}
}

func passes(t *testing.T, r *Services, services ...*corev1.Service) {
	t.Helper()
	for _, s := range services {
		if _, err := r.Reconcile(context.Background(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(s)}); err != nil {
			t.Fatal(err)
		}
	}
}

func onlyEntryPoint(t *testing.T, cl client.Client) *v1alpha1.EntryPoint {
	t.Helper()
	var all v1alpha1.EntryPointList
	if err := cl.List(context.Background(), &all); err != nil || len(all.Items) != 1 {
		t.Fatalf("%d EntryPoints, want one (%v)", len(all.Items), err)
	}
	return &all.Items[0]
}

func TestAWalkIsCalledForWhoNamesOneOfItsNames(t *testing.T) {
	t.Parallel()
	ep := &v1alpha1.EntryPoint{
		ObjectMeta: metav1.ObjectMeta{Name: "shop-a-1"}, Status: v1alpha1.EntryPointStatus{Names: []string{"www.example.com"}},
		Spec: v1alpha1.EntryPointSpec{Members: []v1alpha1.ServiceReference{{Namespace: "shop", Name: "a"}}},
	}
	for name, c := range map[string]struct {
		svc  *corev1.Service
		want bool
	}{
		"a member":                                 {service("a", "192.0.2.50", nil), true},
		"a Service that opted in with its name":    {service("b", "192.0.2.51", optIn("x.example.com, WWW.example.com.")), true},
		"a Service that opted in with another one": {service("b", "192.0.2.51", optIn("x.example.com")), false},
		"a Service that opted in with no name":     {service("b", "192.0.2.51", optIn()), false},
		"a Service that names it and opted not in": {service("b", "192.0.2.51", map[string]string{v1alpha1.AnnotationHostnames: "www.example.com"}), false},
	} {
		if got := concerns(ep, c.svc); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func fakeClient(t *testing.T, services []*corev1.Service) client.Client {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	b := fake.NewClientBuilder().WithScheme(s).WithStatusSubresource(&v1alpha1.EntryPoint{}).
		WithIndex(&v1alpha1.EntryPoint{}, membersIndex, membersOf)
	for _, svc := range services {
		b = b.WithObjects(svc.DeepCopy())
	}
	return b.Build()
}
