package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"offramp.dev/api/v1alpha1"
)

func (a *app) whyCommand() *cobra.Command {
	var format string
	command := &cobra.Command{
		Use:   "why NAME",
		Short: "Say where an entry point stands: every gate, what comes next, and who must act",
		Long: `Say where an entry point stands: every gate with its verdict and reason, what comes next, and who must act.
NAME is an EntryPoint, or namespace/service of a member.

Exit codes: 0 every gate up to the goal is met; 2 one is not, or the walk is stalled; 1 error.`,
		Args:              oneName,
		ValidArgsFunction: a.completeEntryPoints,
		RunE:              func(c *cobra.Command, args []string) error { return a.runWhy(c.Context(), args[0], format) },
	}
	outputFlag(command, &format, "table", "json", "yaml")
	return command
}

// whyReport is the answer for programs.
type whyReport struct {
	APIVersion string             `json:"apiVersion"`
	Kind       string             `json:"kind"`
	Name       string             `json:"name"`
	Goal       v1alpha1.Goal      `json:"goal"`
	Direction  v1alpha1.Direction `json:"direction"`
	Paused     bool               `json:"paused"`
	Current    bool               `json:"current"`
	Gates      []whyGate          `json:"gates"`
	Next       *v1alpha1.NextStep `json:"next"`
	// Share is null before the record, and where no name moves.
	Share    *v1alpha1.ShareStatus `json:"share"`
	Findings []reportFinding       `json:"findings"`
}

type whyGate struct {
	Name    string                 `json:"name"`
	Status  metav1.ConditionStatus `json:"status"`
	Reason  string                 `json:"reason"`
	Message string                 `json:"message"`
	Since   string                 `json:"since"`
}

func (a *app) runWhy(ctx context.Context, name, format string) error {
	conn, err := a.open()
	if err != nil {
		return err
	}
	e, err := find(ctx, conn.Client, name)
	if err != nil {
		return err
	}
	if format == "table" {
		err = a.print(a.whyText(e))
	} else {
		err = a.encode(format, why(e))
	}
	if err != nil {
		return err
	}
	if unmet(e) {
		return errFindings
	}
	return nil
}

func why(e *v1alpha1.EntryPoint) whyReport {
	out := whyReport{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "WhyReport", Name: e.Name, Goal: e.Spec.Goal, Direction: e.Spec.Direction,
		Paused: e.Spec.Paused, Current: current(e), Gates: []whyGate{}, Next: e.Status.Next, Share: e.Status.Share, Findings: reportFindings(e.Status.Findings),
	}
	for _, c := range gateConditions(e) {
		out.Gates = append(out.Gates, whyGate{c.Type, c.Status, c.Reason, c.Message, c.LastTransitionTime.UTC().Format("2006-01-02T15:04:05Z")})
	}
	return out
}

// current tells whether the controller has seen the spec as it is now.
func current(e *v1alpha1.EntryPoint) bool {
	c := meta.FindStatusCondition(e.Status.Conditions, conditionReady)
	return c != nil && c.ObservedGeneration == e.Generation
}

// unmet tells whether the walk is not where its goal lets it be. A status that the controller has not written is unknown,
// and unknown is not met.
func unmet(e *v1alpha1.EntryPoint) bool {
	return !meta.IsStatusConditionTrue(e.Status.Conditions, conditionReady) ||
		meta.IsStatusConditionTrue(e.Status.Conditions, conditionStalled) || !current(e)
}

func (a *app) whyText(e *v1alpha1.EntryPoint) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %s of %s, goal %s, direction %s, attempt %d\n", oneLine(e.Name), orUnknown(string(e.Status.Strategy)),
		oneLine(strings.Join(members(e), ", ")), e.Spec.Goal, e.Spec.Direction, e.Spec.Attempt)
	if !current(e) {
		out.WriteString("The controller has not looked at the latest change of the spec yet; what follows is older.\n")
	}
	out.WriteString("\n" + gateTable(e) + "\n")
	fmt.Fprintf(&out, "Share      %s\n", shareBar(e.Status.SharePercent))
	if s := e.Status.Share; s != nil {
		fmt.Fprintf(&out, "           %s\n", a.shareText(s))
	}
	if d := e.Status.Drain; d != nil {
		fmt.Fprintf(&out, "Old path   %s\n", a.drainText(d))
	}
	if c := meta.FindStatusCondition(e.Status.Conditions, conditionRollback); c != nil {
		fmt.Fprintf(&out, "Way back   %s: %s\n", yesNo(c.Status), oneLine(c.Message))
	}
	if s := e.Status.Snapshot; s != nil {
		fmt.Fprintf(&out, "Snapshot   %s\n", a.snapshotText(e, s))
	}
	fmt.Fprintf(&out, "Next       %s\nWho acts   %s\n", a.nextText(e), actor(e))
	for _, f := range e.Status.Findings {
		fmt.Fprintf(&out, "%s\n", findingLine(f))
		if f.Fix != "" {
			fmt.Fprintf(&out, "    -> %s\n", oneLine(f.Fix))
		}
	}
	return out.String()
}

func gateTable(e *v1alpha1.EntryPoint) string {
	conditions := gateConditions(e)
	if len(conditions) == 0 {
		return "No gate has been looked at yet; is the controller running?\n"
	}
	t := newTable("GATE", "MET", "REASON", "MESSAGE")
	for _, c := range conditions {
		t.row(c.Type, string(c.Status), c.Reason, c.Message)
	}
	return t.String()
}

func (a *app) shareText(s *v1alpha1.ShareStatus) string {
	text := fmt.Sprintf("%d%%", s.NominalPercent)
	if s.ExpectedErrorPoints > 0 {
		text += fmt.Sprintf(" +-%d points", s.ExpectedErrorPoints)
	}
	if text += " asked for; "; s.MeasuredPercent == nil {
		return text + "what is seen is unknown: " + oneLine(s.Unknown)
	}
	return text + fmt.Sprintf("%d%% of the open connections seen %s", *s.MeasuredPercent, a.when(&s.MeasuredAt))
}

func (a *app) drainText(d *v1alpha1.DrainStatus) string {
	text := fmt.Sprintf("%d connections", d.Established)
	if d.QuietSince != nil {
		text += ", the last new one " + a.when(d.QuietSince)
	}
	if d.Unknown != "" {
		text += "; not the whole picture: " + oneLine(d.Unknown)
	}
	return text
}

func (a *app) nextText(e *v1alpha1.EntryPoint) string {
	n := e.Status.Next
	if n == nil {
		return "nothing is known to come"
	}
	text := fmt.Sprintf("%s (%s): %s", n.Gate, n.Reason, oneLine(n.Message))
	if at := a.when(n.At); at != "" {
		text += ", looks again " + at
	}
	return text
}

func (a *app) snapshotText(e *v1alpha1.EntryPoint, s *v1alpha1.SnapshotStatus) string {
	text := fmt.Sprintf("taken %s, sha256 %.12s, kept %s", a.when(&s.TakenAt), s.SHA256, a.kept(e))
	if s.Limited != "" {
		text += "; " + oneLine(s.Limited)
	}
	if r := e.Spec.Retention; r != nil {
		text += "; extended by " + oneLine(r.Requester) + ": " + oneLine(r.Reason)
	}
	return text
}

// actor names who must act next.
func actor(e *v1alpha1.EntryPoint) string {
	switch {
	case e.Spec.Paused:
		return "you: the walk is paused; kubectl offramp resume " + e.Name
	case meta.IsStatusConditionTrue(e.Status.Conditions, conditionStalled):
		c := meta.FindStatusCondition(e.Status.Conditions, conditionStalled)
		return "a human: " + oneLine(c.Message)
	case !unmet(e) && e.Spec.Goal != v1alpha1.GoalForget && e.Spec.Direction != v1alpha1.DirectionBack:
		return fmt.Sprintf("you, when you like: kubectl offramp advance %s --to %s", e.Name, goalAfter(e.Spec.Goal))
	case !unmet(e):
		return "nobody; the walk has ended"
	default:
		return "nobody; the controller goes on by itself"
	}
}

func yesNo(s metav1.ConditionStatus) string {
	switch s {
	case metav1.ConditionTrue:
		return "yes"
	case metav1.ConditionFalse:
		return "no"
	case metav1.ConditionUnknown:
	}
	return "unknown"
}

func orUnknown(text string) string {
	if text == "" {
		return "strategy not known yet"
	}
	return text
}
