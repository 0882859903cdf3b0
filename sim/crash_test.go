package sim

import (
	"fmt"
	"testing"
)

func TestTheControllerMayDieAtEveryWrite(t *testing.T) {
	t.Parallel()
	for name, service := range map[string]string{"Gateway": httpService, "Adopt": keptService} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clean, _ := walkThrough(t, Options{Objects: manifests(t, shortPolicy, service)})
			want := clean.leftovers()
			for n := 1; n <= clean.kill.done; n++ {
				for _, fault := range []string{faultKilledBefore, faultKilledAfter} {
					t.Run(fmt.Sprintf("%s=%d", fault, n), func(t *testing.T) {
						t.Parallel()
						diesAt(t, fmt.Sprintf("%s=%d", fault, n), service, want)
					})
				}
			}
		})
	}
}

func diesAt(t *testing.T, fault, service, want string) {
	t.Helper()
	w, r := walkThrough(t, Options{Objects: manifests(t, shortPolicy, service), Fault: fault})
	e := only(t, r)
	if e.Outcome != Released || e.Requests.Lost != 0 {
		t.Errorf("%s: %s (%s), %d requests lost", fault, e.Outcome, e.Why, e.Requests.Lost)
	}
	if w.kill.kills != 1 {
		t.Errorf("%s: killed %d times", fault, w.kill.kills)
	}
	if got := w.leftovers(); got != want {
		t.Errorf("%s: the world ends as\n%s\nwant\n%s", fault, got, want)
	}
}

func TestTheControllerMayDieAtAllWritesOfOneWalk(t *testing.T) {
	t.Parallel()
	r, err := Rehearse(t.Context(), Options{Objects: manifests(t, shortPolicy, httpService), Fault: faultKilled})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range r.EntryPoints {
		if e.Outcome != Released || e.Requests.Lost != 0 {
			t.Errorf("%s: %s (%s), %d requests lost", e.Name, e.Outcome, e.Why, e.Requests.Lost)
		}
	}
}
