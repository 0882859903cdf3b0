package sim

import (
	"slices"
	"testing"
)

func TestWritesStayWithinTheBudgetAndDoNotDependOnTheNumberOfEntryPoints(t *testing.T) {
	t.Parallel()
	_, one := walkThrough(t, Options{Objects: many(t, 1)})
	_, fifty := walkThrough(t, Options{Objects: many(t, 50)})
	if len(fifty.EntryPoints) != 50 {
		t.Fatalf("%d entry points, want 50", len(fifty.EntryPoints))
	}
	alone := only(t, one)
	for _, e := range fifty.EntryPoints {
		if e.Outcome != Released || e.Requests.Lost != 0 {
			t.Errorf("%s: %s (%s), %d requests lost", e.Name, e.Outcome, e.Why, e.Requests.Lost)
		}
		if e.Writes != alone.Writes {
			t.Errorf("%s: %+v among fifty, %+v alone", e.Name, e.Writes, alone.Writes)
		}
	}
}

func TestTheWritesOfOneMigrationStayWithinThirtyAndThreeForEachObject(t *testing.T) {
	t.Parallel()
	for name, service := range map[string]string{"Gateway": httpService, "LoadBalancer": localService, "Adopt": keptService} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, r := walkThrough(t, Options{Objects: manifests(t, shortPolicy, service)})
			e := only(t, r)
			objects := w.changedObjects(e.Name)
			if most := int64(30 + 3*objects); e.Writes.API > most {
				t.Errorf("%d API writes for %d objects, at most %d\n%v", e.Writes.API, objects, most, w.kill.log)
			}
			t.Logf("%d API writes and %d DNS updates for %d objects", e.Writes.API, e.Writes.DNS, objects)
		})
	}
}

func TestCachesThatLagCostNoWrites(t *testing.T) {
	t.Parallel()
	_, clean := walkThrough(t, Options{Objects: manifests(t, shortPolicy, httpService)})
	want := only(t, clean)
	for _, fault := range []string{faultStale + "=5", faultStale + "=45"} {
		w, r := walkThrough(t, Options{Objects: manifests(t, shortPolicy, httpService), Fault: fault})
		// What passes between two looks of a cache may be reported in fewer steps, or in a few more.
		if e := only(t, r); e.Outcome != Released || e.Writes.DNS != want.Writes.DNS || e.Writes.API > want.Writes.API*5/4 {
			t.Errorf("%s: %s with %+v, without %+v\n%v", fault, e.Outcome, e.Writes, want.Writes, w.kill.log)
		}
	}
}

// changedObjects counts the objects that the controller changed, but for the entry point's own status.
func (w *world) changedObjects(string) int {
	var seen []ref
	for _, x := range w.kill.log {
		r := ref{x.Kind, x.Namespace, x.Name}
		if x.Kind != kindDNS && x.Kind != "MigrationPolicy" && x.Kind != "DNSZone" && !slices.Contains(seen, r) {
			seen = append(seen, r)
		}
	}
	return len(seen)
}
