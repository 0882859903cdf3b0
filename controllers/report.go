package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
	"offramp.dev/migration"
	"offramp.dev/observe"
)

// Conditions of an EntryPoint beside one for each gate.
const (
	// ConditionReady is true when the walk is where the goal asks for.
	ConditionReady = "Ready"
	// ConditionReconciling is true while the walk acts or waits for time or the world (kstatus).
	ConditionReconciling = "Reconciling"
	// ConditionStalled is true while the walk waits for a human (kstatus).
	ConditionStalled = "Stalled"
	// ConditionRollback is true only if a dry run of every step back passes now.
	ConditionRollback = "RollbackAvailable"
	// ConditionExpired is true while a snapshot is held although its retention is over; absent where no retention is set.
	ConditionExpired = "SnapshotExpired"
)

// report writes the status that the decision amounts to, if it differs from what stands there.
func (r *EntryPoints) report(ctx context.Context, w *observe.World, f migration.Facts, d migration.Decision, actErr error) error {
	next := w.EntryPoint.DeepCopy()
	s := &next.Status
	describe(s, w, f)
	if d.Ended && d.At.Gate == migration.GateUndone {
		s.NewAddresses = nil // given back: others may plan with them
	}
	s.Next = nextStep(d, actErr)
	s.SharePercent, s.Share = share(f), shiftOf(f)
	s.Drain = drain(f)
	for _, row := range d.Rows {
		r.condition(next, string(row.Gate), gateStatus(row.Verdict), row.Reason, row.Message)
	}
	r.summary(next, f, d, actErr)
	r.wayBack(ctx, next, w, f)
	r.retention(next, w, f, d)
	cut(s)
	if same(&w.EntryPoint.Status, s) {
		return nil
	}
	if err := r.write(ctx, w.EntryPoint, next); err != nil {
		return err
	}
	countWalk(next, d)
	r.warn(w.EntryPoint, next)
	return nil
}

// write stores a status. It remembers the answer, for the cache is told of it later than we are.
func (r *EntryPoints) write(ctx context.Context, before, next *v1alpha1.EntryPoint) error {
	switch err := r.Client.Status().Patch(ctx, next, client.MergeFrom(before), owner); {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("reporting EntryPoint %s: %w", next.Name, err)
	}
	r.written.remember(next)
	return nil
}

// wayBack says whether there is a way back from here, now.
func (r *EntryPoints) wayBack(ctx context.Context, ep *v1alpha1.EntryPoint, w *observe.World, f migration.Facts) {
	row := migration.Rollback(f, r.returns.Look(ctx, w, f))
	r.condition(ep, ConditionRollback, gateStatus(row.Verdict), row.Reason, row.Message)
}

// retention says what the way back restores, until when it is kept, and, where that time is over, that it is held still:
// time alone deletes nothing, so a human must say what is to become of it.
func (r *EntryPoints) retention(ep *v1alpha1.EntryPoint, w *observe.World, f migration.Facts, d migration.Decision) {
	ep.Status.Snapshot = nil
	kept := migration.RetentionOf(w.Policy, w.EntryPoint.Spec.Retention, f.Record)
	if w.Record != nil && w.Record.Spec.Snapshot != nil && f.Record.Snapshot != nil {
		ep.Status.Snapshot = &v1alpha1.SnapshotStatus{
			SHA256: w.Record.Spec.Snapshot.SHA256, TakenAt: metav1.NewTime(f.Record.Snapshot.TakenAt.Truncate(time.Second)), Limited: kept.Limited,
		}
	}
	if kept.Until.IsZero() || ep.Status.Snapshot == nil {
		meta.RemoveStatusCondition(&ep.Status.Conditions, ConditionExpired)
		return
	}
	until := metav1.NewTime(kept.Until.Truncate(time.Second))
	ep.Status.Snapshot.RetainUntil = &until
	text := kept.Until.UTC().Format(time.RFC3339)
	if f.Now.Before(kept.Until) {
		r.condition(ep, ConditionExpired, metav1.ConditionFalse, "Retained", "the snapshot is kept until "+text)
		return
	}
	r.condition(ep, ConditionExpired, metav1.ConditionTrue, "StillHeld", fmt.Sprintf("the retention ended at %s, and the snapshot is still held "+
		"(%s: %s): let it go with kubectl offramp advance %s --to Forget, or keep it with kubectl offramp extend", text, d.At.Gate, d.At.Reason, ep.Name))
}

// warn tells in Events that the way back has closed, or can no longer be told, and that a snapshot is held past its time.
func (r *EntryPoints) warn(before, after *v1alpha1.EntryPoint) {
	if is := news(before, after, ConditionRollback); is != nil && is.Status != metav1.ConditionTrue {
		r.tell(after, is)
	}
	if is := news(before, after, ConditionExpired); is != nil && is.Status == metav1.ConditionTrue {
		r.tell(after, is)
	}
}

// news is a condition whose status or reason is another one than before, else nil.
func news(before, after *v1alpha1.EntryPoint, kind string) *metav1.Condition {
	is, was := meta.FindStatusCondition(after.Status.Conditions, kind), meta.FindStatusCondition(before.Status.Conditions, kind)
	if is == nil || was != nil && was.Status == is.Status && was.Reason == is.Reason {
		return nil
	}
	return is
}

func (r *EntryPoints) tell(ep *v1alpha1.EntryPoint, c *metav1.Condition) {
	if r.Events != nil {
		r.Events.Eventf(ep, nil, "Warning", c.Reason, c.Type, "%s", c.Message)
	}
}

// cut keeps the status within what the API server stores; the whole is in the plan and in the inventory.
func cut(s *v1alpha1.EntryPointStatus) {
	for _, list := range []*[]string{&s.Addresses, &s.NewAddresses, &s.Ports, &s.Names, &s.Notes} {
		*list = (*list)[:min(len(*list), v1alpha1.MaxStatusItems)]
	}
	s.Findings = s.Findings[:min(len(s.Findings), v1alpha1.MaxFindings)]
	for i := range s.Findings {
		s.Findings[i].Message = clip(s.Findings[i].Message)
	}
	if s.Next != nil {
		s.Next.Message = clip(s.Next.Message)
	}
}

// same leaves out what moves with every packet: a status is not worth a write for that alone.
func same(a, b *v1alpha1.EntryPointStatus) bool {
	x, y := a.DeepCopy(), b.DeepCopy()
	for _, s := range []*v1alpha1.EntryPointStatus{x, y} {
		if s.Drain != nil {
			s.Drain.QuietSince, s.Drain.Established = nil, min(s.Drain.Established, 1)
		}
		if s.Next != nil {
			s.Next.At, s.Next.Message = nil, ""
		}
		if s.Share != nil {
			s.Share.MeasuredPercent, s.Share.Unknown, s.Share.MeasuredAt = nil, "", metav1.Time{}
		}
		for i := range s.Conditions {
			s.Conditions[i].Message = ""
		}
	}
	return equality.Semantic.DeepEqual(x, y) && !moved(a.Share, b.Share)
}

// A measured share moves with every packet: it is written by itself only if it moved by shareMoves points or more and what
// stands there is shareRests old.
const (
	shareMoves = 5
	shareRests = time.Minute
)

// moved tells whether a measured share is worth a write by itself.
func moved(a, b *v1alpha1.ShareStatus) bool {
	if a == nil || b == nil || b.MeasuredAt.Sub(a.MeasuredAt.Time) < shareRests {
		return false
	}
	if a.MeasuredPercent == nil || b.MeasuredPercent == nil {
		return a.Unknown != b.Unknown
	}
	by := *b.MeasuredPercent - *a.MeasuredPercent
	return max(by, -by) >= shareMoves
}

// describe fills in what the entry point is: from the frozen plan, before that from the plan of now.
func describe(s *v1alpha1.EntryPointStatus, w *observe.World, f migration.Facts) {
	s.Findings = slices.Clone(w.Entry.Findings)
	s.Strategy, s.StrategyReason, s.PlanHash, s.Notes = w.Entry.Strategy, w.Entry.Why, "", nil
	s.Addresses, s.Ports, s.NewAddresses, s.Names = w.Entry.Addresses, w.Entry.Ports, nil, nil
	s.Attempt, s.Record = f.Attempt(), f.Record.Name
	plan := f.Live
	if plan != nil {
		s.PlanHash = migration.HashPlan(plan)
	}
	if n := len(f.Record.Plans); n > 0 && f.Record.Plans[n-1].Attempt >= f.Attempt() {
		plan, s.PlanHash = f.Record.Plans[n-1].Plan, f.Record.Plans[n-1].Hash
	}
	if plan == nil {
		return
	}
	s.Strategy, s.StrategyReason, s.Notes = plan.Strategy, plan.Why, plan.Notes
	s.Addresses, s.NewAddresses = addresses(plan, true), addresses(plan, false)
	s.Ports = nil
	for _, m := range plan.Members {
		s.Ports = append(s.Ports, m.Ports...)
	}
	sort.Strings(s.Ports)
	s.Ports = slices.Compact(s.Ports)
	for _, n := range plan.Names {
		s.Names = append(s.Names, n.Name)
	}
}

func addresses(p *migration.Plan, old bool) []string {
	list := p.NewAddresses
	if old {
		list = p.OldAddresses
	}
	var out []string
	for _, a := range list {
		out = append(out, a.String())
	}
	return out
}

func nextStep(d migration.Decision, actErr error) *v1alpha1.NextStep {
	if d.Ended {
		return nil
	}
	out := &v1alpha1.NextStep{Gate: string(d.At.Gate), Reason: d.At.Reason, Message: d.At.Message}
	if actErr != nil {
		out.Reason, out.Message = reasonOf(actErr), actErr.Error()
	}
	if !d.At.Again.IsZero() {
		at := metav1.NewTime(d.At.Again)
		out.At = &at
	}
	return out
}

// reasonOf is the reason code of a failed action.
func reasonOf(err error) string {
	if class := updateClass(err); class != "" {
		return "DNSUpdate" + string(class)
	}
	return "ActionFailed"
}

// share is the nominal share of the new path at the primaries, the smallest over the names; unknown answers keep it out.
func share(f migration.Facts) int32 {
	out := int32(100)
	if len(f.Names) == 0 {
		return 0
	}
	for _, n := range f.Names {
		if !n.Servers[0].Known {
			return 0
		}
		out = min(out, n.Name.NominalShare(n.Servers[0].Value.Records))
	}
	return out
}

// shiftOf is what the shift asks for and what is seen of it; nil where nothing is recorded or no name moves.
func shiftOf(f migration.Facts) *v1alpha1.ShareStatus {
	if !f.Record.Exists || len(f.Names) == 0 {
		return nil
	}
	s := migration.ShareOf(f)
	out := &v1alpha1.ShareStatus{
		NominalPercent: s.Nominal, ExpectedErrorPoints: min(s.Error, 100), MeasuredAt: metav1.NewTime(f.Now.Truncate(time.Second)),
	}
	if m := s.Measured; m.Known {
		out.MeasuredPercent = &m.Value
	} else {
		out.Unknown = clip(m.Why)
	}
	return out
}

func drain(f migration.Facts) *v1alpha1.DrainStatus {
	if !f.Record.Exists {
		return nil
	}
	out := &v1alpha1.DrainStatus{Established: f.OldUse.Established.Value}
	if q := f.OldUse.QuietSince; q.Known {
		at := metav1.NewTime(q.Value)
		out.QuietSince = &at
	} else {
		out.Unknown = q.Why
	}
	return out
}

// gateStatus maps a verdict to a condition: only what is met is True, only what could not be seen is Unknown.
func gateStatus(v migration.Verdict) metav1.ConditionStatus {
	switch v {
	case migration.Met, migration.Moot, migration.NotApplicable:
		return metav1.ConditionTrue
	case migration.Unknown:
		return metav1.ConditionUnknown
	case migration.Unmet, migration.Waiting, migration.Held, migration.Later:
		return metav1.ConditionFalse
	}
	return metav1.ConditionUnknown
}

func (r *EntryPoints) condition(ep *v1alpha1.EntryPoint, kind string, status metav1.ConditionStatus, reason, message string) {
	if reason == "" {
		reason = "Unspecified"
	}
	meta.SetStatusCondition(&ep.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: clip(message), ObservedGeneration: ep.Generation,
		LastTransitionTime: metav1.NewTime(r.Now().Truncate(time.Second)),
	})
}

// clip keeps a message within what a condition may hold.
func clip(s string) string {
	const most = 1024
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}

// summary adds the kstatus conditions.
func (r *EntryPoints) summary(ep *v1alpha1.EntryPoint, f migration.Facts, d migration.Decision, actErr error) {
	reason, message := d.At.Reason, d.At.Message
	if actErr != nil {
		reason, message = reasonOf(actErr), actErr.Error()
	}
	arrived := d.Ended || d.At.Reason == migration.ReasonGoalReached || d.At.Reason == migration.ReasonNothingToUndo
	if d.Ended && reason == "" {
		reason = string(d.At.Gate)
	}
	held := d.At.Verdict == migration.Held && !arrived && f.Intent.Goal != v1alpha1.GoalReport
	moving := !arrived && !held && f.Intent.Goal != v1alpha1.GoalReport
	r.condition(ep, ConditionReady, truth(arrived || f.Intent.Goal == v1alpha1.GoalReport && len(f.Blockers) == 0), reason, message)
	r.condition(ep, ConditionReconciling, truth(moving), reason, message)
	r.condition(ep, ConditionStalled, truth(held), reason, message)
}

func truth(b bool) metav1.ConditionStatus {
	if b {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}

// reportUnreadable says that something the decision rests on could not be read or trusted.
func (r *EntryPoints) reportUnreadable(ctx context.Context, ep *v1alpha1.EntryPoint, problem error) error {
	next := ep.DeepCopy()
	for _, kind := range []string{ConditionReady, ConditionReconciling, ConditionRollback} {
		r.condition(next, kind, metav1.ConditionUnknown, "CannotLook", problem.Error())
	}
	if same(&ep.Status, &next.Status) {
		return nil
	}
	return r.write(ctx, ep, next)
}

// event tells the users of the EntryPoint and of its Services what was done.
func (r *EntryPoints) event(ep *v1alpha1.EntryPoint, d migration.Decision) {
	if r.Events == nil {
		return
	}
	r.Events.Eventf(ep, nil, "Normal", string(d.At.Gate), "Walk", "%s", d.Action.String())
}

func updateClass(err error) dnsctl.Class {
	if u, ok := errors.AsType[*dnsctl.UpdateError](err); ok {
		return u.Class
	}
	return ""
}
