package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/cli/manifest"
	"offramp.dev/migration"
)

// rehearseFlags are what the command line says.
type rehearseFlags struct {
	RehearseOptions
	files      []string
	listFaults bool
	progress   bool
	format     string
}

func (a *app) rehearseCommand() *cobra.Command {
	var o rehearseFlags
	command := &cobra.Command{
		Use:   "rehearse {-f FILE|DIR|-... | --demo}",
		Short: "Walk the migration of manifests in an embedded world, with clients that count what they lose",
		Long: `Walk the migration of manifests in an embedded world.

The real controllers run against an API server, name servers, a Gateway implementation, a load balancer, nodes and clients
that are all emulated in this process, under a clock that jumps. It shows that the walk is right for these Services, and
what it would do; it does not show that your cluster's own parts work. No network is used.

What a walk needs and the manifests lack (a policy, a pool, a zone, nodes) is made up, and told.

Exit codes: 0 nothing was lost and nothing hangs; 2 requests were lost, or a walk is held; 1 error.`,
		Example: `  kubectl-offramp rehearse --demo
  kubectl-offramp rehearse -f services.yaml --rollback-at Shifted
  kubectl-offramp rehearse -f services.yaml --fault dns-refused -o json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error { return a.runRehearse(c.Context(), o, args) },
	}
	f := command.Flags()
	f.StringArrayVarP(&o.files, "filename", "f", nil, "file or directory of manifests, or - for standard input; may be repeated")
	f.BoolVar(&o.Demo, "demo", false, "walk the bundled cluster")
	f.StringVar(&o.RollbackAt, "rollback-at", "", "turn back once this gate is met")
	f.StringVar(&o.Fault, "fault", "", "inject this fault, see --list-faults")
	f.BoolVar(&o.listFaults, "list-faults", false, "list the faults and end")
	f.Int64Var(&o.Seed, "seed", 1, "seed of everything random")
	f.BoolVar(&o.progress, "progress", false, "tell every change of a gate while it happens")
	outputFlag(command, &o.format, "table", "wide", "json", "yaml")
	_ = command.RegisterFlagCompletionFunc("rollback-at", cobra.FixedCompletions(gateNames(), cobra.ShellCompDirectiveNoFileComp))
	_ = command.RegisterFlagCompletionFunc("fault", cobra.FixedCompletions(faultNames(a.Faults), cobra.ShellCompDirectiveNoFileComp))
	return command
}

func (a *app) runRehearse(ctx context.Context, o rehearseFlags, more []string) error {
	if o.listFaults {
		return a.print(faultTable(a.Faults))
	}
	if err := a.rehearsable(&o, more); err != nil {
		return err
	}
	options, failed, err := a.rehearseInput(ctx, o, more)
	if err != nil {
		return err
	}
	r, err := a.Rehearse(ctx, options)
	if err != nil {
		return fmt.Errorf("rehearsing: %w", err)
	}
	if err := a.printRehearsal(r, o); err != nil {
		return err
	}
	switch {
	case failed:
		return errReported
	case r.Lost > 0 || slices.ContainsFunc(r.Walks, hangs):
		return errFindings
	default:
		return nil
	}
}

// rehearsable refuses what cannot be meant.
func (a *app) rehearsable(o *rehearseFlags, more []string) error {
	switch {
	case a.Rehearse == nil:
		return errors.New("this program was built without the embedded world")
	case o.Demo && len(o.files) > 0:
		return errors.New("--demo brings its own cluster; leave -f out")
	case !o.Demo && len(o.files) == 0:
		return errors.New("nothing to walk: give manifests with -f, or --demo")
	case o.Demo && len(more) > 0:
		return fmt.Errorf("%q is not expected here", more[0])
	case o.Fault != "" && len(a.Faults) == 0:
		return fmt.Errorf("--fault %s: no faults are built in", o.Fault)
	default:
		return nil
	}
}

// rehearseInput reads the manifests; what is wrong with some of them is told, and the rest is walked.
func (a *app) rehearseInput(ctx context.Context, o rehearseFlags, more []string) (out RehearseOptions, failed bool, err error) {
	out = o.RehearseOptions
	if o.progress {
		out.Progress = a.Err
	}
	if o.Demo {
		return out, false, nil
	}
	scheme := newScheme()
	reader := manifest.Reader{
		Each: func(m manifest.Object) error {
			object, known, err := anyObject(scheme, m)
			if known {
				out.Objects = append(out.Objects, object)
			}
			return err
		},
		Problem: func(e *manifest.Error) {
			failed = true
			a.say("error: %s", oneLine(e.Error()))
		},
	}
	paths, _ := a.withoutTemplates(append(slices.Clone(o.files), more...))
	err = reader.Paths(ctx, paths, a.In)
	return out, failed, err
}

// anyObject decodes every kind that the embedded world may know; known is false for others, and for what cannot be read.
func anyObject(scheme *runtime.Scheme, m manifest.Object) (object client.Object, known bool, err error) {
	gvk := schema.FromAPIVersionAndKind(m.APIVersion, m.Kind)
	empty, err := scheme.New(gvk)
	if runtime.IsNotRegisteredError(err) {
		return nil, false, nil
	} else if err != nil {
		return nil, false, fmt.Errorf("%s: %w", m.Kind, err)
	}
	object, known = empty.(client.Object)
	if !known {
		return nil, false, nil
	}
	if err := decode(m, object); err != nil {
		return nil, false, err
	}
	return object, true, nil
}

// gateNames in the order of the table.
func gateNames() []string {
	var out []string
	for _, g := range []migration.Gate{
		migration.GateEligible, migration.GateGuarded, migration.GateRecorded, migration.GateClaimed, migration.GateStaged, migration.GateProven,
		migration.GateTTLLowered, migration.GateShifted, migration.GateSettled, migration.GateDrained, migration.GateReleased,
		migration.GateSoaked, migration.GateTTLRestored, migration.GateForgotten,
	} {
		out = append(out, string(g))
	}
	return out
}

func faultNames(faults []Fault) []string {
	out := make([]string, 0, len(faults))
	for _, f := range faults {
		out = append(out, f.Name)
	}
	return out
}

func faultTable(faults []Fault) string {
	t := newTable("FAULT", "WHAT HAPPENS")
	for _, f := range faults {
		t.row(f.Name, f.Meaning)
	}
	return t.String()
}
