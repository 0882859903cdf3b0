package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"offramp.dev/gateway"
	"offramp.dev/inventory"
)

func (a *app) preflightCommand() *cobra.Command {
	var (
		l              look
		target, format string
	)
	command := &cobra.Command{
		Use:   "preflight --target RELEASE [-f FILE|DIR|-]...",
		Short: "Say what a release of Kubernetes means for everything that still uses externalIPs",
		Long: `Say what a release of Kubernetes means for everything that still uses Service.spec.externalIPs: Services, objects of
operators and charts that embed the field, Gateways whose implementation writes it, and settings that the release refuses.

It reads what inventory reads: a tree of manifests, rendered charts and kustomizations, "kubectl get -o json", gzip or not,
standard input, or the cluster. A template that is not rendered is passed over, and told.

RELEASE is a minor release, for example 1.40, v1.40 or 1.40.2. The releases that change something are 1.36, 1.40, 1.43 and
1.46, all but the first at the earliest; one between two has the rules of the earlier one.

Exit codes: 0 nothing depends on what the release takes away; 2 something does; 1 some input could not be read.`,
		Example: `  kubectl offramp preflight --target 1.40
  kubectl-offramp preflight --target 1.40 -f clusters/prod -o sarif > offramp.sarif
  helm template web charts/web | kubectl-offramp preflight --target 1.43 -f - -o junit`,
		RunE: func(c *cobra.Command, args []string) error {
			return a.runPreflight(c.Context(), l, args, target, format)
		},
	}
	f := command.Flags()
	f.StringVar(&target, "target", "", "release to upgrade to: "+strings.Join(inventory.Releases(), ", ")+", or any other of 1.36 and later")
	f.StringArrayVarP(&l.files, "filename", "f", nil, filesUsage)
	f.StringVarP(&l.namespace, "namespace", "n", "", "only objects in this namespace, and those of the cluster (default: all)")
	f.BoolVarP(&l.all, "all-namespaces", "A", false, "all namespaces; this is the default")
	outputFlag(command, &format, "table", "json", "yaml", "csv", "markdown", "sarif", "junit")
	_ = command.RegisterFlagCompletionFunc("target", cobra.FixedCompletions(inventory.Releases(), cobra.ShellCompDirectiveNoFileComp))
	return command
}

func (a *app) runPreflight(ctx context.Context, l look, args []string, target, format string) error {
	if target == "" {
		return errors.New("--target is missing; name the release to upgrade to, for example --target 1.40")
	}
	release, err := inventory.ParseRelease(target)
	if err != nil {
		return fmt.Errorf("--target: %w", err)
	}
	c, passed, err := a.collect(ctx, l, args)
	if err != nil {
		return err
	}
	report := preflight(c, l, release, passed)
	a.sayUnseen(c)
	if err := a.printPreflight(report, format); err != nil {
		return err
	}
	switch {
	case c.failed:
		return errReported
	case report.Summary.Depends > 0:
		return errFindings
	default:
		return nil
	}
}

// sayUnseen tells what nobody could look at, on the way to standard error.
func (a *app) sayUnseen(c *collection) {
	var kinds []string
	for _, u := range c.Unseen {
		if !slices.Contains(kinds, u.Kind) {
			kinds = append(kinds, u.Kind)
		}
	}
	if len(kinds) > 0 {
		a.say("Not looked at, so what depends on it is unknown: %s.", oneLine(strings.Join(kinds, ", ")))
	}
}

// preflight looks ahead from what was collected.
func preflight(c *collection, l look, release inventory.Release, passed []skipped) *preflightReport {
	catalog := c.take()
	outlook := inventory.LookAhead(c.Cluster, catalog, release, fieldWriters())
	for _, u := range c.unreadable {
		outlook.Add(u.consequence(catalog))
	}
	if l.namespace != "" && !l.all {
		outlook.Consequences = slices.DeleteFunc(outlook.Consequences, func(q inventory.Consequence) bool {
			return q.Namespace != "" && q.Namespace != l.namespace
		})
	}
	return newPreflightReport(c, catalog, outlook, passed)
}

// fieldWriters tells of every Gateway implementation that is known whether it turns spec.addresses into externalIPs.
func fieldWriters() map[string]bool {
	out := map[string]bool{}
	for name, profile := range gateway.Profiles() {
		out[name] = profile.WritesExternalIPs
	}
	return out
}

// consequence of a Service that does not decode: unknown is never nothing.
func (u unreadable) consequence(catalog inventory.Catalog) inventory.Consequence {
	out := inventory.Consequence{
		Effect: inventory.EffectUnreadable, Kind: "Service", Namespace: u.namespace, Name: u.name, Field: orText(u.err.Field, "spec.externalIPs"),
		Message: "The value " + oneLine(u.err.Err.Error()) + "; it cannot be told what depends on it.",
		Fix:     "Correct the value in the manifest, or read the Service from the cluster.",
	}
	for _, e := range catalog.EntryPoints {
		if slices.Contains(e.Services, u.key()) {
			out.EntryPoint = e.Name
		}
	}
	return out
}

func (a *app) printPreflight(r *preflightReport, format string) error {
	switch format {
	case "json", "yaml":
		return a.encode(format, r)
	case "csv":
		return a.print(csvText(r.rows()))
	case "markdown":
		return a.print(preflightMarkdown(r))
	case "sarif":
		return a.encode("json", sarifOf(r, a.Version))
	case "junit":
		return a.printJUnit(r)
	default:
		return a.print(preflightTable(r))
	}
}
