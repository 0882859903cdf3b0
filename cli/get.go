package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/api/v1alpha1"
)

func (a *app) getCommand() *cobra.Command {
	var (
		namespace, format string
		watching          bool
	)
	command := &cobra.Command{
		Use:   "get [NAME]...",
		Short: "List entry points: how far each has walked, what it waits for, and what comes next",
		Long: "List entry points: how far each has walked, what it waits for, and what comes next.\n" +
			"NAME is an EntryPoint, or namespace/service of a member.",
		RunE: func(c *cobra.Command, args []string) error {
			return a.runGet(c.Context(), args, namespace, format, watching)
		},
	}
	command.Flags().StringVarP(&namespace, "namespace", "n", "", "only entry points with a member in this namespace (default: all)")
	command.Flags().BoolP("all-namespaces", "A", false, "all namespaces; this is the default")
	command.Flags().BoolVarP(&watching, "watch", "w", false, "go on and print every change")
	outputFlag(command, &format, "table", "wide", "json", "yaml", "name")
	command.ValidArgsFunction = a.completeEntryPoints
	return command
}

func (a *app) runGet(ctx context.Context, names []string, namespace, format string, watching bool) error {
	conn, err := a.open()
	if err != nil {
		return err
	}
	list, err := chosenEntryPoints(ctx, conn.Client, names, namespace)
	if err != nil {
		return err
	}
	if err := a.printEntryPoints(list, format, len(names) == 1); err != nil || !watching {
		return err
	}
	return a.watch(ctx, conn.Client, list, format)
}

func chosenEntryPoints(ctx context.Context, c client.Reader, names []string, namespace string) ([]v1alpha1.EntryPoint, error) {
	if len(names) == 0 {
		all, err := entryPoints(ctx, c)
		return inNamespace(all, namespace), err
	}
	var out []v1alpha1.EntryPoint
	for _, name := range names {
		e, err := find(ctx, c, name)
		if err != nil {
			return nil, err
		}
		out = append(out, *e)
	}
	return out, nil
}

func inNamespace(all []v1alpha1.EntryPoint, namespace string) []v1alpha1.EntryPoint {
	out := []v1alpha1.EntryPoint{}
	for _, e := range all {
		if namespace == "" || isMemberIn(&e, namespace) {
			out = append(out, e)
		}
	}
	return out
}

func isMemberIn(e *v1alpha1.EntryPoint, namespace string) bool {
	for _, m := range e.Spec.Members {
		if m.Namespace == namespace {
			return true
		}
	}
	return false
}

func (a *app) printEntryPoints(list []v1alpha1.EntryPoint, format string, one bool) error {
	switch format {
	case "json", "yaml":
		return a.encode(format, typed(list, one))
	case "name":
		var out strings.Builder
		for _, e := range list {
			fmt.Fprintf(&out, "entrypoint.offramp.dev/%s\n", e.Name)
		}
		return a.print(out.String())
	default:
		if len(list) == 0 {
			a.say("No entry points. kubectl offramp inventory says what could become one.")
			return nil
		}
		return a.print(a.entryPointTable(list, format == "wide"))
	}
}

// typed adds the kinds that the client leaves out; a single one that was asked for by name is no list.
func typed(list []v1alpha1.EntryPoint, one bool) any {
	for i := range list {
		list[i].TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "EntryPoint"}
	}
	if one && len(list) == 1 {
		return list[0]
	}
	return v1alpha1.EntryPointList{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "EntryPointList"}, Items: list}
}

func (a *app) entryPointTable(list []v1alpha1.EntryPoint, wide bool) string {
	header := []string{"NAME", "STRATEGY", "GOAL", "WAY", "WAITS AT", "REASON", "SHARE", "ASKED", "MEASURED", "NEXT LOOK"}
	if wide {
		header = append(header, "OLD", "NEW", "NAMES", "WAY BACK", "KEPT", "MESSAGE")
	}
	t := newTable(header...)
	for i := range list {
		t.row(a.entryPointRow(&list[i], wide)...)
	}
	return t.String()
}

func (a *app) entryPointRow(e *v1alpha1.EntryPoint, wide bool) []string {
	gate, reason := standing(e)
	message, next := "", ""
	if e.Status.Next != nil {
		message, next = e.Status.Next.Message, a.when(e.Status.Next.At)
	}
	if e.Spec.Paused {
		reason = "Paused," + reason
	}
	row := []string{
		e.Name, string(e.Status.Strategy), string(e.Spec.Goal), string(e.Spec.Direction), gate, reason, shareBar(e.Status.SharePercent),
		asked(e.Status.Share), a.measured(e.Status.Share), next,
	}
	if wide {
		row = append(row, few(e.Status.Addresses, 2), few(e.Status.NewAddresses, 2), few(e.Status.Names, 2), wayBack(e), a.kept(e), message)
	}
	return row
}

// asked is the share that the shift asks for, and the error to expect of it in points.
func asked(s *v1alpha1.ShareStatus) string {
	switch {
	case s == nil:
		return ""
	case s.ExpectedErrorPoints > 0:
		return fmt.Sprintf("%d%%+-%d", s.NominalPercent, s.ExpectedErrorPoints)
	default:
		return fmt.Sprintf("%d%%", s.NominalPercent)
	}
}

// measured is the share that was seen, and when; why tells what keeps it unknown.
func (a *app) measured(s *v1alpha1.ShareStatus) string {
	switch {
	case s == nil:
		return ""
	case s.MeasuredPercent == nil:
		return "unknown"
	default:
		return fmt.Sprintf("%d%%,%s", *s.MeasuredPercent, a.when(&s.MeasuredAt))
	}
}

// wayBack says in a word whether there is one, and if not, why.
func wayBack(e *v1alpha1.EntryPoint) string {
	c := meta.FindStatusCondition(e.Status.Conditions, conditionRollback)
	switch {
	case c == nil:
		return ""
	case c.Status == metav1.ConditionTrue:
		return "yes"
	default:
		return yesNo(c.Status) + "," + c.Reason
	}
}

// kept says until when the snapshot is kept; one without a time is kept as long as the evidence asks for.
func (a *app) kept(e *v1alpha1.EntryPoint) string {
	s := e.Status.Snapshot
	switch {
	case s == nil:
		return ""
	case s.RetainUntil == nil:
		return "yes"
	case isMet(e, conditionExpired):
		return "expired " + a.when(s.RetainUntil)
	default:
		return "until " + s.RetainUntil.UTC().Format("2006-01-02T15:04Z")
	}
}

// watch prints a line for every change until it is interrupted.
func (a *app) watch(ctx context.Context, c client.WithWatch, chosen []v1alpha1.EntryPoint, format string) error {
	wanted := map[string]bool{}
	for _, e := range chosen {
		wanted[e.Name] = true
	}
	w, err := c.Watch(ctx, &v1alpha1.EntryPointList{})
	if err != nil {
		return kindError(err)
	}
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, open := <-w.ResultChan():
			if !open {
				return nil
			}
			e, ok := event.Object.(*v1alpha1.EntryPoint)
			if !ok || len(wanted) > 0 && !wanted[e.Name] {
				continue
			}
			if err := a.printEntryPoints([]v1alpha1.EntryPoint{*e}, format, true); err != nil {
				return err
			}
		}
	}
}

// completeEntryPoints offers the names that the cluster has; without a cluster there is nothing to offer.
func (a *app) completeEntryPoints(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	conn, err := a.open()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, err := entryPoints(c.Context(), conn.Client)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []cobra.Completion
	for _, e := range list {
		out = append(out, e.Name)
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
