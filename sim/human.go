package sim

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/migration"
)

// AnnotationRollbackAt on a Service turns the rehearsal of its entry point back once this gate is met, for example
// Drained, or Shifted@50 for a share.
const AnnotationRollbackAt = "rehearse.offramp.dev/rollback-at"

// tracked is what the rehearsal knows of one walk.
type tracked struct {
	name       string
	rollbackAt string
	// met is when a gate was first met on the way forward.
	met map[string]time.Time
	// standing is what the status said last, since when.
	standing string
	since    time.Time
	back     bool
	outcome  string
	why      string
}

// human is the emulated person: reads the report, stages, reads the plan and approves it, releases; and turns back where
// the rehearsal says so. It acts on one entry point at a time.
func (w *world) human(ctx context.Context) (bool, error) {
	for _, obj := range sortedObjects(w.server.store.cache, entryPointKind) {
		stored, ok := obj.(*v1alpha1.EntryPoint)
		if !ok || len(stored.Status.Conditions) == 0 {
			continue
		}
		ep := stored.DeepCopy()
		t := w.track(ep)
		w.judge(t, ep)
		if err := w.fault.look(ctx, w, ep); err != nil {
			return false, err
		}
		if !w.decide(t, ep) {
			continue
		}
		if err := w.admin.Update(ctx, ep); err != nil {
			return false, fmt.Errorf("the emulated human cannot change EntryPoint %s: %w", ep.Name, err)
		}
		return true, nil
	}
	return false, nil
}

// decide changes the spec as a person would; false where there is nothing to do.
func (w *world) decide(t *tracked, ep *v1alpha1.EntryPoint) bool {
	switch {
	case t.outcome != "" || ep.Status.Strategy == v1alpha1.StrategyNone:
		return false
	case !t.back && t.rollbackAt != "" && reached(ep, t.rollbackAt):
		t.back = true
		ep.Spec.Direction = v1alpha1.DirectionBack
	case t.back:
		return w.vouch(ep)
	case ep.Spec.Goal == v1alpha1.GoalReport:
		w.answer(ep)
		ep.Spec.Goal = v1alpha1.GoalStage
	case ep.Spec.Goal == v1alpha1.GoalStage && isTrue(ep, string(migration.GateProven)) && isTrue(ep, string(migration.GateStaged)):
		ep.Spec.ApprovedPlan, ep.Spec.Goal = ep.Status.PlanHash, v1alpha1.GoalRelease
	default:
		return false
	}
	return true
}

// answer is the person's word on what the inventory asks: the recommended strategy is taken.
func (w *world) answer(ep *v1alpha1.EntryPoint) {
	var asked []string
	for _, f := range ep.Status.Findings {
		if f.Severity == v1alpha1.SeverityAsk {
			asked = append(asked, f.Reason)
		}
	}
	if len(asked) == 0 {
		return
	}
	ep.Spec.Waivers = append(ep.Spec.Waivers, v1alpha1.Waiver{
		Gate: string(migration.GateEligible), Requester: "rehearsal", Expires: metav1.NewTime(w.now.Add(longest)),
		Reason: "the rehearsal takes the recommended strategy " + string(ep.Status.Strategy),
	})
	w.assume("EntryPoint %s: the human answers %s by going on with strategy %s", ep.Name, strings.Join(asked, ", "), ep.Status.Strategy)
}

// vouch is the person's word, on the way back, that connections on a port that others share are not this entry point's.
func (w *world) vouch(ep *v1alpha1.EntryPoint) bool {
	signed := slices.ContainsFunc(ep.Spec.Waivers, func(x v1alpha1.Waiver) bool { return x.Gate == string(migration.GateDrained) })
	if signed || ep.Status.Next == nil || ep.Status.Next.Reason != migration.ReasonUseShared {
		return false
	}
	ep.Spec.Waivers = append(ep.Spec.Waivers, v1alpha1.Waiver{
		Gate: string(migration.GateDrained), Requester: "rehearsal", Expires: metav1.NewTime(w.now.Add(longest)),
		Reason: "the rehearsal takes the connections that are left for those of the entry points on the same port",
	})
	w.assume("EntryPoint %s: the human waives Drained on the way back, since others are served on its ports of the new address", ep.Name)
	return true
}

// track notes an entry point and where it is to turn back.
func (w *world) track(ep *v1alpha1.EntryPoint) *tracked {
	t, ok := w.walks[ep.Name]
	if !ok {
		t = &tracked{name: ep.Name, rollbackAt: w.options.RollbackAt, met: map[string]time.Time{}, since: w.now}
		w.walks[ep.Name] = t
	}
	for _, m := range ep.Spec.Members {
		if at := w.rollbacks[m.Namespace+"/"+m.Name]; at != "" {
			t.rollbackAt = at
		}
	}
	return t
}

// judge notes gates that are met for the first time, and how the walk stands.
func (w *world) judge(t *tracked, ep *v1alpha1.EntryPoint) {
	for _, g := range forwardGates() {
		if !isTrue(ep, string(g)) {
			break
		}
		if _, known := t.met[string(g)]; !known && !t.back {
			t.met[string(g)] = w.now
			w.say("%s  %-44s %s", w.now.Format("15:04:05"), ep.Name, g)
		}
	}
	ready := meta.FindStatusCondition(ep.Status.Conditions, "Ready")
	standing := fmt.Sprint(ep.Spec.Goal, ep.Spec.Direction, ep.Status.SharePercent, ep.Status.Next != nil)
	if ep.Status.Next != nil {
		standing += ep.Status.Next.Gate + ep.Status.Next.Reason
	}
	if standing != t.standing {
		t.standing, t.since, w.progress = standing, w.now, w.now
	}
	t.outcome, t.why = w.outcome(t, ep, ready)
}

// settledFor is how long a held walk must stand still before the rehearsal believes that it stays so.
const settledFor = time.Hour

// outcome is the end of a walk, or "" while it may go on.
func (w *world) outcome(t *tracked, ep *v1alpha1.EntryPoint, ready *metav1.Condition) (outcome, why string) {
	still := w.now.Sub(t.since) >= settledFor
	switch {
	case ep.Status.Strategy == v1alpha1.StrategyNone:
		return CleanUp, "CleanUp: " + cleanUp(ep)
	case t.back && isUndone(ep):
		return Undone, "as it was before the walk"
	case !t.back && t.rollbackAt != "" && reached(ep, t.rollbackAt):
		return "", "" // about to turn back
	case !t.back && ep.Spec.Goal == v1alpha1.GoalRelease && ready != nil && ready.Status == metav1.ConditionTrue:
		return Released, "the field is gone and the new path is good"
	case still && ep.Spec.Goal != v1alpha1.GoalReport && isTrue(ep, "Stalled"):
		return w.standstill(ep)
	}
	return "", ""
}

// isUndone tells a walk that was walked back from one whose gate is met because nobody asked for it.
func isUndone(ep *v1alpha1.EntryPoint) bool {
	c := meta.FindStatusCondition(ep.Status.Conditions, string(migration.GateUndone))
	return c != nil && c.Status == metav1.ConditionTrue && (c.Reason == migration.ReasonUndone || c.Reason == migration.ReasonNothingToUndo)
}

// standstill tells a walk that may not begin from one that stopped.
func (w *world) standstill(ep *v1alpha1.EntryPoint) (outcome, why string) {
	outcome = Held
	if ep.Status.Record == "" {
		outcome = Blocked
	}
	if n := ep.Status.Next; n != nil {
		why = n.Gate + " " + n.Reason + ": " + n.Message
	}
	return outcome, why
}

func cleanUp(ep *v1alpha1.EntryPoint) string {
	for _, f := range ep.Status.Findings {
		if f.Severity == v1alpha1.SeverityCleanUp {
			return strings.TrimSuffix(f.Message, ".") + "; " + f.Fix
		}
	}
	return "the field does nothing here; remove it"
}

// final tells whether the rehearsal of this walk is over.
func (t *tracked) final() bool { return t.outcome != "" }

// reached tells whether a gate, or a share ("Shifted@50"), is met with all gates before it.
func reached(ep *v1alpha1.EntryPoint, at string) bool {
	name, percent, shared := strings.Cut(at, "@")
	if shared {
		want, err := strconv.ParseInt(percent, 10, 32)
		return err == nil && ep.Status.SharePercent >= int32(want)
	}
	for _, g := range forwardGates() {
		if !isTrue(ep, string(g)) {
			return false
		}
		if string(g) == name {
			return true
		}
	}
	return false
}

// checkRollbackAt refuses a gate that no walk forward meets under goal Release.
func checkRollbackAt(at string) error {
	name, percent, shared := strings.Cut(at, "@")
	_, err := strconv.ParseInt(percent, 10, 32)
	switch {
	case at == "", shared && name == string(migration.GateShifted) && err == nil:
		return nil
	case shared || !slices.Contains(forwardGates(), migration.Gate(name)):
		return fmt.Errorf("rollback at %q: want one of %s, or Shifted@50", at, joinGates())
	}
	return nil
}

// forwardGates are the gates that a walk to Release meets, in order.
func forwardGates() []migration.Gate {
	return []migration.Gate{
		migration.GateEligible, migration.GateGuarded, migration.GateRecorded, migration.GateClaimed, migration.GateStaged,
		migration.GateProven, migration.GateTTLLowered, migration.GateShifted, migration.GateSettled, migration.GateDrained,
		migration.GateReleased, migration.GateSoaked, migration.GateTTLRestored,
	}
}

func joinGates() string {
	var out []string
	for _, g := range forwardGates() {
		out = append(out, string(g))
	}
	return strings.Join(out, ", ")
}

func isTrue(ep *v1alpha1.EntryPoint, condition string) bool {
	return meta.IsStatusConditionTrue(ep.Status.Conditions, condition)
}
