package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/observe"
)

// walkOf is the EntryPoint of one Service of namespace shop, where a walk has got to.
func walkOf(name string, goal v1alpha1.Goal, record, next string) *v1alpha1.EntryPoint {
	ep := reported(name)
	ep.Spec.Goal, ep.Status.Record = goal, record
	if next != "" {
		ep.Status.Next = &v1alpha1.NextStep{Reason: next}
	}
	return ep
}

func bare() *corev1.Service {
	s := service("web", "192.0.2.1", optIn())
	s.Spec.ExternalIPs = nil
	return s
}

func policyForShop() *v1alpha1.MigrationPolicy {
	return &v1alpha1.MigrationPolicy{ObjectMeta: metav1.ObjectMeta{Name: "standard"}, Spec: v1alpha1.MigrationPolicySpec{Namespaces: []string{"shop"}}}
}

// series are what a scrape of the catalog shows, sorted.
func series(t *testing.T, s *snapshot) []string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(s); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			out = append(out, fmt.Sprintf("%s{%s} %v", strings.TrimPrefix(f.GetName(), "offramp_"), strings.Join(labels, ","), m.GetGauge().GetValue()))
		}
	}
	slices.Sort(out)
	return out
}

func TestEveryServiceIsInOneStateOfTheCatalog(t *testing.T) {
	t.Parallel()
	inert := service("inert", "192.0.2.9", nil)
	inert.Spec.Type, inert.Spec.ExternalName = corev1.ServiceTypeExternalName, "example.org"
	for name, c := range map[string]struct {
		service *corev1.Service
		walk    *v1alpha1.EntryPoint
		// state, and a reason where it matters.
		want string
	}{
		"nobody opted it in":             {service("web", "192.0.2.1", nil), nil, "uncovered"},
		"its EntryPoint reports":         {service("web", "192.0.2.1", optIn()), walkOf("web", v1alpha1.GoalReport, "", "GoalReached"), "report"},
		"a human set a goal":             {service("web", "192.0.2.1", optIn()), walkOf("web", v1alpha1.GoalStage, "", "NoPool"), "walking,NoPool"},
		"its walk is recorded":           {service("web", "192.0.2.1", optIn()), walkOf("web", v1alpha1.GoalCutOver, "web-1", "Waiting"), "walking,Waiting"},
		"its walk went back to the end":  {service("web", "192.0.2.1", optIn()), walkOf("web", v1alpha1.GoalCutOver, "web-1", ""), "report,Undone"},
		"its walk took the field off":    {bare(), walkOf("web", v1alpha1.GoalRelease, "web-1", "Soaking"), "released,Soaking"},
		"its walk is forgotten":          {bare(), walkOf("web", v1alpha1.GoalForget, "web-1", ""), "released,Ended"},
		"its field does nothing":         {inert, nil, "cleanup"},
		"a reason that is no code":       {bare(), walkOf("web", v1alpha1.GoalRelease, "web-1", "10.0.0.1 said no"), "released,Unspecified"},
		"it never had the field":         {bare(), nil, ""},
		"it belongs to nobody's members": {bare(), walkOf("other", v1alpha1.GoalRelease, "other-1", "Soaking"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cl := fakeClient(t, []*corev1.Service{c.service})
			objects := []client.Object{policyForShop()}
			if c.walk != nil {
				objects = append(objects, c.walk)
			}
			store(t, cl, objects...)
			counts, err := NewCatalog(&Ports{Ports: observe.Ports{Cached: cl, Live: cl, Now: time.Now}, Client: cl}).count(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for k, n := range counts {
				got = append(got, k.state+","+k.reason)
				if n != 1 {
					t.Errorf("%v counts %d", k, n)
				}
			}
			if len(got) > 1 || (c.want == "") != (len(got) == 0) || !strings.HasPrefix(strings.Join(got, " "), c.want) {
				t.Errorf("got %v, want %q", got, c.want)
			}
		})
	}
}

// store creates objects with their status.
func store(t *testing.T, cl client.Client, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		full, ok := o.DeepCopyObject().(client.Object)
		if !ok {
			t.Fatal("no object")
		}
		if err := cl.Create(context.Background(), o); err != nil {
			t.Fatal(err)
		}
		if _, ok := o.(*v1alpha1.EntryPoint); ok {
			full.SetResourceVersion(o.GetResourceVersion())
			if err := cl.Status().Update(context.Background(), full); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestAScrapeShowsTheLastCountAndAsksNobody(t *testing.T) {
	t.Parallel()
	at := time.Unix(1000, 0)
	s := &snapshot{}
	if got := series(t, s); len(got) > 0 {
		t.Errorf("before the first count: %v", got)
	}
	seen := observe.Sightings{LastSeen: map[string]time.Time{"192.0.2.1": time.Unix(900, 0)}, Asked: true}
	s.note(map[class]int{{StateUncovered, "Ready"}: 3, {StateReleased, "Ended"}: 1}, seen, at)
	want := []string{
		"address_last_seen_timestamp_seconds{192.0.2.1} 900", "addresses_observed{} 0", "catalog_timestamp_seconds{} 1000",
		"services_with_external_ips{Ended,released} 1", "services_with_external_ips{Ready,uncovered} 3",
	}
	if got := series(t, s); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	seen.Observed = true
	s.note(nil, seen, at.Add(time.Minute))
	if got := series(t, s); !slices.Contains(got, "addresses_observed{} 1") || !slices.Contains(got, "services_with_external_ips{Ready,uncovered} 3") ||
		!slices.Contains(got, "catalog_timestamp_seconds{} 1060") {
		t.Errorf("after a pass in which no Service changed: %v", got)
	}
	s.clear()
	if got := series(t, s); len(got) > 0 {
		t.Errorf("of a process that no longer leads: %v", got)
	}
}

func TestTheCatalogCountsOnlyAfterAnEventAndAgainAfterAFailure(t *testing.T) {
	lists := map[string]int{}
	broken := false
	inner, ok := fakeClient(t, []*corev1.Service{service("web", "192.0.2.1", nil)}).(client.WithWatch)
	if !ok {
		t.Fatal("no watch")
	}
	cl := interceptor.NewClient(inner, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			lists[fmt.Sprintf("%T", list)]++
			if _, ok := list.(*corev1.ServiceList); ok && broken {
				return errors.New("broken")
			}
			return c.List(ctx, list, o...)
		},
	})
	now := time.Unix(1000, 0)
	c := NewCatalog(&Ports{Ports: observe.Ports{Cached: cl, Live: cl, Now: func() time.Time { return now }}, Client: cl})
	pass := func(wantErr bool, wantLists int) {
		t.Helper()
		if err := c.pass(context.Background()); (err != nil) != wantErr || lists["*v1.ServiceList"] != wantLists {
			t.Errorf("error %v, %d lists of Services, want %d", err, lists["*v1.ServiceList"], wantLists)
		}
	}
	pass(false, 1)
	pass(false, 1)
	c.heard(&corev1.Service{})
	pass(false, 1)
	c.heard(service("web", "192.0.2.1", nil))
	broken = true
	pass(true, 2)
	broken = false
	pass(false, 3)
	pass(false, 3)
	now = now.Add(recountEvery)
	pass(false, 4)
	pass(false, 4)
}
