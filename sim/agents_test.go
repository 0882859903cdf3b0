package sim

import "testing"

// The reports are written on change only, so that without the Leases the old path would never be seen quiet for its window.
func TestAgentsThatSeeNothingNewOnlyRenewTheirLeasesAndTheWalkStillDrains(t *testing.T) {
	t.Parallel()
	w, r := walkThrough(t, Options{Objects: manifests(t, shortPolicy, httpService)})
	if e := only(t, r); e.Outcome != Released {
		t.Errorf("%s (%s)", e.Outcome, e.Why)
	}
	if w.agents.reports == 0 || w.agents.beats == 0 {
		t.Errorf("%d reports and %d heartbeats", w.agents.reports, w.agents.beats)
	}
	t.Logf("%d reports and %d heartbeats", w.agents.reports, w.agents.beats)
}
