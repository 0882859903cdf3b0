package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"

	"offramp.dev/api/v1alpha1"
)

// goals in their order.
func goals() []v1alpha1.Goal {
	return []v1alpha1.Goal{v1alpha1.GoalReport, v1alpha1.GoalStage, v1alpha1.GoalCutOver, v1alpha1.GoalRelease, v1alpha1.GoalForget}
}

func rank(g v1alpha1.Goal) int { return slices.Index(goals(), g) }

func goalAfter(g v1alpha1.Goal) v1alpha1.Goal {
	return goals()[min(rank(g)+1, len(goals())-1)]
}

// effects say what a goal lets happen.
func effect(g v1alpha1.Goal) string {
	switch g {
	case v1alpha1.GoalStage:
		return "the plan is recorded, the addresses are claimed and the new path is built and probed; no client notices"
	case v1alpha1.GoalCutOver:
		return "TTLs are lowered and names move to the new path, share by share; the old path stays"
	case v1alpha1.GoalRelease:
		return "when the old path has drained, externalIPs is removed from the Services and the new path must prove itself"
	case v1alpha1.GoalForget:
		return "the snapshot is dropped once the evidence allows it; from then on there is NO way back"
	case v1alpha1.GoalReport:
	}
	return "nothing is changed; the controller only reports"
}

type advanceFlags struct {
	to, approve    string
	approveCurrent bool
	lower          bool
}

func (a *app) advanceCommand() *cobra.Command {
	var f advanceFlags
	command := a.steerCommand(&cobra.Command{
		Use:   "advance NAME --to GOAL",
		Short: "Let an entry point walk as far as a goal: Stage, CutOver, Release, Forget",
		Long: `Let an entry point walk as far as a goal. It writes the goal, and past Stage the plan that you
approve; the controller does the rest.

  Stage     record the plan, claim addresses, build and probe the new path
  CutOver   lower TTLs and move names, share by share
  Release   drain the old path, remove externalIPs, soak
  Forget    drop the snapshot; no way back

Past Stage a plan must be approved: --approve with the hash that "plan" prints, or --approve-current.`,
		Example: `  kubectl offramp plan shop-web-1a2b3c4d
  kubectl offramp advance shop-web-1a2b3c4d --to CutOver --approve 5f2c...`,
	}, func(e *v1alpha1.EntryPoint) (steering, error) { return advance(e, f) })
	command.Flags().StringVar(&f.to, "to", "", "the goal: Report, Stage, CutOver, Release or Forget")
	command.Flags().StringVar(&f.approve, "approve", "", "hash of the plan that you approve (status.planHash)")
	command.Flags().BoolVar(&f.approveCurrent, "approve-current", false, "approve whatever plan the status shows now")
	command.Flags().BoolVar(&f.lower, "lower", false, "allow a goal below the present one; it stops the walk and undoes nothing")
	command.MarkFlagsMutuallyExclusive("approve", "approve-current")
	_ = command.MarkFlagRequired("to")
	words := []string{"Stage", "CutOver", "Release", "Forget"}
	_ = command.RegisterFlagCompletionFunc("to", cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	return command
}

// advance decides what to write.
func advance(e *v1alpha1.EntryPoint, f advanceFlags) (steering, error) {
	to := v1alpha1.Goal(f.to)
	if rank(to) < 0 {
		return steering{}, fmt.Errorf("--to %q is no goal; use one of %v", f.to, goals())
	}
	if rank(to) < rank(e.Spec.Goal) && !f.lower {
		return steering{}, fmt.Errorf(
			"the goal is %s already, and a lower one undoes nothing; pause or rollback is likely meant, else add --lower", e.Spec.Goal)
	}
	if e.Spec.Direction == v1alpha1.DirectionBack && rank(to) > rank(e.Spec.Goal) {
		return steering{}, fmt.Errorf("%s walks back; kubectl offramp retry turns it forward again", e.Name)
	}
	plan, err := approved(e, f, to)
	if err != nil {
		return steering{}, err
	}
	var ops []patchOp
	if to != e.Spec.Goal {
		ops = append(ops, set("goal", to))
	}
	if plan != e.Spec.ApprovedPlan {
		ops = append(ops, set("approvedPlan", plan))
	}
	if len(ops) == 0 {
		return steering{says: fmt.Sprintf("has goal %s already", to)}, nil
	}
	says := fmt.Sprintf("goal %s: %s", to, effect(to))
	if e.Spec.Paused {
		says += "; the walk is paused, so this happens after resume"
	}
	return steering{ops, says}, nil
}

// approved is the plan's hash to write. Nothing past Stage happens without one, and none is approved that is not the
// plan which the controller would apply now.
func approved(e *v1alpha1.EntryPoint, f advanceFlags, to v1alpha1.Goal) (string, error) {
	wish := f.approve
	if f.approveCurrent {
		wish = e.Status.PlanHash
	}
	if wish == "" && rank(to) <= rank(v1alpha1.GoalStage) {
		return e.Spec.ApprovedPlan, nil
	}
	if e.Status.PlanHash == "" {
		return "", fmt.Errorf("%s has no plan yet; kubectl offramp why %s says what stands in the way", e.Name, e.Name)
	}
	if wish == "" {
		wish = e.Spec.ApprovedPlan
	}
	if wish != e.Status.PlanHash {
		return "", fmt.Errorf("past Stage the plan must be approved: look at kubectl offramp plan %s, then add --approve %s",
			e.Name, e.Status.PlanHash)
	}
	return wish, nil
}

func isMet(e *v1alpha1.EntryPoint, gate string) bool {
	return meta.IsStatusConditionTrue(e.Status.Conditions, gate)
}
