package sim

import (
	"strings"
	"testing"
)

func TestAFaultEndsWhereTheDesignSaysAndLosesNothingElsewhere(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		outcome, why string
		// share is what names say at the end: 0 the old path alone.
		share int32
		// mayLose: requests may be lost on the faulted path, until the walk notices and caches let go.
		mayLose bool
	}{
		"dns-refused":             {outcome: Held, why: "DNSUpdateAuth"},
		"dns-server-lags":         {outcome: Released, share: 100},
		"allocation-failed":       {outcome: Held, why: "Proven"},
		"path-fails":              {outcome: Held, why: "Aborted", mayLose: true},
		"path-fails-at-50":        {outcome: Held, why: "Aborted", mayLose: true},
		"path-fails-at-100":       {outcome: Held, why: "Aborted", mayLose: true},
		"agent-silent":            {outcome: Held, why: "Drained UseUnknown", share: 100},
		"tenant-edits-field-back": {outcome: Held, why: "FieldReturned", share: 100},
		"zone-edited-by-hand":     {outcome: Held, why: "Reverted"},
		"guard-missing":           {outcome: Blocked, why: "Guarded NotDenied"},
	}
	for _, f := range Faults() {
		if strings.HasPrefix(f.Name, faultKilled) || f.Name == faultLost+"=N" || f.Name == faultStale+"=N" {
			continue // see TestCrashPoint
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			want, ok := cases[f.Name]
			if !ok {
				t.Fatal("no test for this fault")
			}
			w, r := walkThrough(t, Options{Objects: manifests(t, shortPolicy, httpService), Fault: f.Name})
			e := only(t, r)
			if e.Outcome != want.outcome || !strings.Contains(e.Why, want.why) {
				t.Errorf("%s (%s), want %s (%s)", e.Outcome, e.Why, want.outcome, want.why)
			}
			if e.Requests.Lost > 0 != want.mayLose {
				t.Errorf("%d of %d requests lost", e.Requests.Lost, e.Requests.Sent)
			}
			status := w.entryPoint(t, e.Name).Status
			if got := status.SharePercent; got != want.share {
				t.Errorf("share %d at the end, want %d", got, want.share)
			}
			if s := status.Share; want.share > 0 && (s == nil || s.NominalPercent != want.share || s.ExpectedErrorPoints != 0 || s.MeasuredAt.IsZero()) {
				t.Errorf("asked for and seen at the end: %+v, want %d", s, want.share)
			}
		})
	}
}

func TestRequestsAreLostOnlyWhileAnybodyStillKnowsTheFailedAddress(t *testing.T) {
	t.Parallel()
	w, r := walkThrough(t, Options{Objects: manifests(t, shortPolicy, httpService), Fault: "path-fails-at-50"})
	e := only(t, r)
	if w.losses == 0 || int64(w.losses) != e.Requests.Lost {
		t.Fatalf("%d losses noted, %d reported", w.losses, e.Requests.Lost)
	}
	// A poll of at most a minute, three failed rounds, twice the low TTL for a resolver that keeps answers too long.
	if took := w.lastLoss.Sub(w.firstLoss).Minutes(); took > 5 {
		t.Errorf("requests were lost for %.1f minutes", took)
	}
	if e.Requests.Lost*20 > e.Requests.Sent {
		t.Errorf("%d of %d requests lost", e.Requests.Lost, e.Requests.Sent)
	}
}

func TestUnknownFaultsAndGatesAreRefusedWithTheNamesThatAreKnown(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"a fault that is not known":        {Fault: "dns-melts"},
		"a fault without its number":       {Fault: "controller-killed-before-write"},
		"a fault with a number below one":  {Fault: "controller-killed-after-write=0"},
		"a fault with a number too many":   {Fault: "dns-refused=3"},
		"a gate that is not known":         {RollbackAt: "Halfway"},
		"a share of another gate":          {RollbackAt: "Drained@50"},
		"the end of the walk back, Undone": {RollbackAt: "Undone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Rehearse(t.Context(), o)
			if err == nil || !strings.Contains(err.Error(), "want") {
				t.Errorf("got %v, want an error that says what is wanted", err)
			}
		})
	}
}
