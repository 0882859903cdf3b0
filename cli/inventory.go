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

// collect reads what the flags name, and says which templates it passed over. Further arguments are files too, so that a
// shell's wildcard works behind -f.
func (a *app) collect(ctx context.Context, l look, more []string) (c *collection, passed []skipped, err error) {
	switch {
	case len(l.files) > 0:
		paths, passed := a.withoutTemplates(append(slices.Clone(l.files), more...))
		c, err = a.collectFilesAnd(ctx, paths, l.sources)
		return c, passed, err
	case len(more) > 0:
		return nil, nil, fmt.Errorf("%q is not expected here; files go behind -f", more[0])
	}
	conn, err := a.openOrFiles()
	if err != nil {
		return nil, nil, err
	}
	c, err = a.collectClusterAnd(ctx, conn, l.namespace, l.sources)
	return c, nil, err
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
		l         look
		format    string
		conflicts bool
	)
	command := &cobra.Command{
		Use:   "inventory [-f FILE|DIR|-]...",
		Short: "Say what depends on externalIPs, what to do about each, and why",
		Long: `Say what depends on Service.spec.externalIPs, what to do about each, and why.

It looks at files (YAML of many documents, JSON, lists, gzip or not) or at the cluster with the rights you have. A kind
that cannot be read is told, and never guessed at. Other Services than those chosen by -n and -l are looked at, too:
they may share an address. Templates that are not rendered are passed over, and told.

With --conflicts it lists only the addresses that more than one claims, or that are not a Service's to claim, the riskiest
first; with an audit log also who claimed each first, and who tried later.

Exit codes: 0 nothing depends on the field; 2 something does; 1 some input could not be read.`,
		Example: `  kubectl offramp inventory
  kubectl get svc,nodes,endpointslices -A -o json | kubectl-offramp inventory -f -
  kubectl-offramp inventory -f clusters/prod -o json | jq .summary
  kubectl offramp inventory --conflicts --audit-log audit.log.gz`,
		RunE: func(c *cobra.Command, args []string) error {
			return a.runInventory(c.Context(), l, args, format, conflicts)
		},
	}
	l.flags(command)
	command.Flags().BoolVar(&conflicts, "conflicts", false, "only what is claimed twice, or is not a Service's to claim")
	outputFlag(command, &format, "table", "wide", "json", "yaml", "csv", "markdown")
	return command
}

func (a *app) runInventory(ctx context.Context, l look, args []string, format string, conflicts bool) error {
	chosen, err := l.filter()
	if err != nil {
		return err
	}
	c, passed, err := a.collect(ctx, l, args)
	if err != nil {
		return err
	}
	i := &inventoryView{collection: c, Catalog: chosen.apply(c.take(), c), places: newPlaces(c), passed: passed}
	i.Conflicts = conflictsOf(i.Catalog, chosen)
	a.sayFindings(i.Findings, format == "wide")
	if conflicts {
		return a.runConflicts(i, format)
	}
	if err := a.printInventory(i, format); err != nil {
		return err
	}
	return verdictOf(c, i.Catalog)
}

// inventoryView is one answer of inventory.
type inventoryView struct {
	*collection
	inventory.Catalog
	*places
	passed []skipped
}

// conflictsOf keeps those of the chosen entry points.
func conflictsOf(catalog inventory.Catalog, chosen filter) []inventory.Conflict {
	if chosen.all() {
		return catalog.Conflicts
	}
	kept := map[string]bool{}
	for _, e := range catalog.EntryPoints {
		for _, key := range e.Services {
			kept[key] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(catalog.Conflicts), func(c inventory.Conflict) bool {
		return !slices.ContainsFunc(c.Services, func(key string) bool { return kept[key] })
	})
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

func (a *app) printInventory(i *inventoryView, format string) error {
	switch format {
	case "json", "yaml":
		return a.encode(format, i.report())
	case "csv":
		return a.print(csvText(i.rows()))
	case "markdown":
		return a.print(inventoryMarkdown(i))
	default:
		return a.print(inventoryTable(i, format == "wide"))
	}
}

// sayFindings tells what belongs to no entry point; what was not looked at in one line, unless more is asked for.
func (a *app) sayFindings(findings []v1alpha1.Finding, wide bool) {
	for _, f := range findings {
		if f.Reason != inventory.ReasonUnseen || wide {
			a.say("%s", findingLine(f))
		}
	}
	if unseen := unseenKinds(findings); len(unseen) > 0 && !wide {
		a.say("Not looked at, so what depends on it is unknown: %s.", oneLine(strings.Join(unseen, ", ")))
	}
}

// summary is the last line of the answer. Where input could not be read, a count alone would look like a clean cluster.
func (i *inventoryView) summary() string {
	s := i.Summary
	text := fmt.Sprintf("%d of %d Services depend on externalIPs, in %d entry points.", s.WithExternalIPs, s.Services, s.EntryPoints)
	switch {
	case i.failed && s.Services == 0:
		return "No Service was read, because the input could not be; the errors say what is wrong with it. Nothing is known."
	case i.failed:
		return text + " Some of the input could not be read, so there may be more; the errors say what."
	case s.Services == 0:
		return "No Service was chosen, or the input holds none."
	default:
		return text
	}
}

// inventoryTable is one line for each entry point, and in the wide form every finding with its way out.
func inventoryTable(i *inventoryView, wide bool) string {
	summary := i.summary() + "\n"
	if len(i.Conflicts) > 0 && !wide {
		summary += counted(len(i.Conflicts), "conflict") + " of addresses: --conflicts.\n"
	}
	if len(i.EntryPoints) == 0 {
		return summary
	}
	t := newTable("ENTRY POINT", "SERVICES", "ADDRESSES", "PORTS", "STRATEGY", "VERDICT", "REASONS")
	for _, e := range i.EntryPoints {
		t.row(e.Name, few(e.Services, 2), few(e.Addresses, 2), few(e.Ports, 3), string(e.Strategy), string(e.Verdict), few(reasons(e), 3))
	}
	out := t.String() + "\n" + summary
	if !wide {
		return out + "What each reason means and what to do: -o wide.\n"
	}
	return out + i.details()
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

// findingLine is one finding in one line, without the way out.
func findingLine(f v1alpha1.Finding) string {
	return fmt.Sprintf("%-8s %s: %s: %s", f.Severity, f.Reason, oneLine(f.Object), oneLine(f.Message))
}
