package migration

import (
	"testing"

	"offramp.dev/api/v1alpha1"
)

func TestBeforeAnythingIsRecordedNoLaterGateShowsAsPassed(t *testing.T) {
	t.Parallel()
	cases := map[string]Facts{
		"with a plan at goal Report": {Live: &Plan{}, Intent: Intent{Goal: v1alpha1.GoalReport, Direction: v1alpha1.DirectionForward, Attempt: 1}},
		"with a plan at goal Stage":  {Live: &Plan{}, Intent: Intent{Goal: v1alpha1.GoalStage, Direction: v1alpha1.DirectionForward, Attempt: 1}},
		"without a plan": {
			Intent:   Intent{Goal: v1alpha1.GoalRelease, Direction: v1alpha1.DirectionForward, Attempt: 1},
			Blockers: []v1alpha1.Finding{{Reason: "AddressConflict", Severity: v1alpha1.SeverityBlock}},
		},
	}
	for name, f := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reached := false
			for _, row := range Decide(f).Rows {
				reached = reached || row.Gate == GateRecorded
				if passed := row.Verdict == Met || row.Verdict == Moot || row.Verdict == NotApplicable; reached && passed {
					t.Errorf("%s is %s: %s", row.Gate, row.Verdict, row.Reason)
				}
			}
		})
	}
}
