package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/inventory"
)

// look says what to look at: files, or the cluster.
type look struct {
	files     []string
	namespace string
	all       bool
	selector  string
	sources
}

func (l *look) flags(command *cobra.Command) {
	f := command.Flags()
	f.StringArrayVarP(&l.files, "filename", "f", nil, filesUsage)
	f.StringVarP(&l.namespace, "namespace", "n", "", "only entry points with a Service in this namespace (default: all)")
	f.BoolVarP(&l.all, "all-namespaces", "A", false, "all namespaces; this is the default")
	f.StringVarP(&l.selector, "selector", "l", "", "only entry points with a Service that has these labels")
	l.sources.flags(f)
}

// filesUsage describes -f where a cluster can be looked at instead.
const filesUsage = "file or directory of manifests, or - for standard input; may be repeated (default: the cluster)"

// collect reads what the flags name. Further arguments are files too, so that a shell's wildcard works behind -f.
func (a *app) collect(ctx context.Context, l look, more []string) (*collection, error) {
	switch {
	case len(l.files) > 0:
		return a.collectFilesAnd(ctx, append(slices.Clone(l.files), more...), l.sources)
	case len(more) > 0:
		return nil, fmt.Errorf("%q is not expected here; files go behind -f", more[0])
	}
	conn, err := a.open()
	if err != nil {
		return nil, err
	}
	return a.collectClusterAnd(ctx, conn, l.namespace, l.sources)
}

func (l look) filter() (filter, error) {
	selector, err := labels.Parse(l.selector)
	if err != nil {
		return filter{}, fmt.Errorf("-l %s: %w", l.selector, err)
	}
	if l.all {
		return filter{"", selector}, nil
	}
	return filter{l.namespace, selector}, nil
}

func (a *app) inventoryCommand() *cobra.Command {
	var (
		l      look
		format string
	)
	command := &cobra.Command{
		Use:   "inventory [-f FILE|DIR|-]...",
		Short: "Say what depends on externalIPs, what to do about each, and why",
		Long: `Say what depends on Service.spec.externalIPs, what to do about each, and why.

It looks at files (YAML of many documents, JSON, lists, gzip or not) or at the cluster with the rights you have. A kind
that cannot be read is told, and never guessed at. Other Services than those chosen by -n and -l are looked at, too:
they may share an address.

Exit codes: 0 nothing depends on the field; 2 something does; 1 some input could not be read.`,
		Example: `  kubectl offramp inventory
  kubectl get svc,nodes,endpointslices -A -o json | kubectl-offramp inventory -f -
  kubectl-offramp inventory -f clusters/prod -o json | jq .summary`,
		RunE: func(c *cobra.Command, args []string) error { return a.runInventory(c.Context(), l, args, format) },
	}
	l.flags(command)
	outputFlag(command, &format, "table", "wide", "json", "yaml")
	return command
}

func (a *app) runInventory(ctx context.Context, l look, args []string, format string) error {
	chosen, err := l.filter()
	if err != nil {
		return err
	}
	c, err := a.collect(ctx, l, args)
	if err != nil {
		return err
	}
	catalog := chosen.apply(c.take(), c)
	if err := a.printInventory(catalog, format); err != nil {
		return err
	}
	return verdictOf(c, catalog)
}

// verdictOf chooses the exit code.
func verdictOf(c *collection, catalog inventory.Catalog) error {
	switch {
	case c.failed:
		return errReported
	case len(catalog.EntryPoints) > 0 || slices.ContainsFunc(catalog.Findings, asksForAction):
		return errFindings
	default:
		return nil
	}
}

func asksForAction(f v1alpha1.Finding) bool { return f.Severity != v1alpha1.SeverityInform }

func (a *app) printInventory(catalog inventory.Catalog, format string) error {
	a.sayFindings(catalog.Findings, format == "wide")
	switch format {
	case "json", "yaml":
		return a.encode(format, newReport(catalog))
	case "wide":
		return a.print(inventoryTable(catalog, true))
	default:
		return a.print(inventoryTable(catalog, false))
	}
}

// sayFindings tells what belongs to no entry point; what was not looked at in one line, unless more is asked for.
func (a *app) sayFindings(findings []v1alpha1.Finding, wide bool) {
	var unseen []string
	for _, f := range findings {
		if f.Reason == inventory.ReasonUnseen && !wide {
			unseen = append(unseen, f.Object)
			continue
		}
		a.say("%s", findingLine(f))
	}
	if len(unseen) > 0 {
		a.say("Not looked at, so what depends on it is unknown: %s.", oneLine(strings.Join(unseen, ", ")))
	}
}

// inventoryTable is one line for each entry point, and in the wide form every finding with its way out.
func inventoryTable(catalog inventory.Catalog, wide bool) string {
	s := catalog.Summary
	summary := fmt.Sprintf("%d of %d Services depend on externalIPs, in %d entry points.\n", s.WithExternalIPs, s.Services, s.EntryPoints)
	if len(catalog.EntryPoints) == 0 {
		return summary
	}
	t := newTable("ENTRY POINT", "SERVICES", "ADDRESSES", "PORTS", "STRATEGY", "VERDICT", "REASONS")
	for _, e := range catalog.EntryPoints {
		t.row(e.Name, few(e.Services, 2), few(e.Addresses, 2), few(e.Ports, 3), string(e.Strategy), string(e.Verdict), few(reasons(e), 3))
	}
	out := t.String() + "\n" + summary
	if !wide {
		return out + "What each reason means and what to do: -o wide.\n"
	}
	return out + inventoryDetails(catalog)
}

// reasons of the findings that somebody must act on, each once.
func reasons(e inventory.EntryPoint) []string {
	var out []string
	for _, f := range e.Findings {
		if asksForAction(f) && !slices.Contains(out, f.Reason) {
			out = append(out, f.Reason)
		}
	}
	return out
}

func inventoryDetails(catalog inventory.Catalog) string {
	var out strings.Builder
	for _, e := range catalog.EntryPoints {
		fmt.Fprintf(&out, "\n%s: %s (%s)\n", oneLine(e.Name), e.Verdict, e.Strategy)
		fmt.Fprintf(&out, "  Services   %s\n", oneLine(strings.Join(e.Services, ", ")))
		fmt.Fprintf(&out, "  Why        %s\n", oneLine(e.Why))
		if len(e.Names) > 0 {
			fmt.Fprintf(&out, "  Names      %s\n", oneLine(strings.Join(e.Names, ", ")))
		}
		for _, f := range e.Findings {
			fmt.Fprintf(&out, "  %s\n", findingLine(f))
			if f.Fix != "" {
				fmt.Fprintf(&out, "      -> %s\n", oneLine(f.Fix))
			}
		}
	}
	return out.String()
}

// findingLine is one finding in one line, without the way out.
func findingLine(f v1alpha1.Finding) string {
	return fmt.Sprintf("%-8s %s: %s: %s", f.Severity, f.Reason, oneLine(f.Object), oneLine(f.Message))
}
