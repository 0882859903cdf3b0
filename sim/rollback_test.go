package sim

import (
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"offramp.dev/api/v1alpha1"
)

func TestEveryGateCanBeWalkedBackAndNothingIsLeft(t *testing.T) {
	t.Parallel()
	for name, service := range map[string]string{"Gateway": httpService, "LoadBalancer": localService, "Adopt": keptService} {
		gates := []string{"Shifted@50"}
		for _, g := range forwardGates() {
			gates = append(gates, string(g))
		}
		for _, at := range gates {
			if at == "Shifted@50" && name == "Adopt" {
				continue // the address stays, and with it every name
			}
			t.Run(name+" back from "+at, func(t *testing.T) {
				t.Parallel()
				w, r := walkThrough(t, Options{Objects: manifests(t, shortPolicy, service), RollbackAt: at})
				e := only(t, r)
				if e.Outcome != Undone || e.Requests.Lost != 0 || e.Requests.Sent == 0 {
					t.Fatalf("outcome %s (%s), %d of %d lost", e.Outcome, e.Why, e.Requests.Lost, e.Requests.Sent)
				}
				isAsBefore(t, w)
			})
		}
	}
}

// isAsBefore compares the world with what it was before the walk.
func isAsBefore(t *testing.T, w *world) {
	t.Helper()
	servicesAreAsBefore(t, w)
	nothingIsLeft(t, w.server.store.cache)
	for name, set := range w.records {
		for n := range 3 {
			if got, _ := w.zones.Ask(name, n); !got.Equal(sortedSet(set)) {
				t.Errorf("name %s answers %s, want %s", name, got, set)
			}
		}
	}
	if dump := w.zones.Dump(true); strings.Contains(dump, `mark="shop`) {
		t.Errorf("a mark is left:\n%s", dump)
	}
}

func servicesAreAsBefore(t *testing.T, w *world) {
	t.Helper()
	for key, before := range w.before {
		namespace, name, _ := strings.Cut(key, "/")
		live, ok := w.server.store.cache.objects[serviceKind][types.NamespacedName{Namespace: namespace, Name: name}].(*corev1.Service)
		if !ok {
			t.Errorf("Service %s is gone", key)
			continue
		}
		if !reflect.DeepEqual(live.Spec, before.Spec) || !reflect.DeepEqual(live.Status, before.Status) {
			t.Errorf("Service %s is\n%+v %+v\nwant\n%+v %+v", key, live.Spec, live.Status, before.Spec, before.Status)
		}
		if mark := live.Annotations[v1alpha1.AnnotationReleased]; mark != "" {
			t.Errorf("Service %s still carries the mark %s", key, mark)
		}
	}
}

func nothingIsLeft(t *testing.T, store *cache) {
	t.Helper()
	for gk, objects := range store.objects {
		for key, obj := range objects {
			target := obj.GetLabels()[v1alpha1.LabelEntryPoint] != "" && gk.Kind != "MigrationRecord"
			if target || obj.GetLabels()[labelGatewayName] != "" || gk == claimKind {
				t.Errorf("%s %s is left", gk.Kind, key)
			}
		}
	}
}
