// Package cli holds the commands of the kubectl plugin. It reads with the caller's rights, or files alone, and writes
// nothing but the spec of EntryPoints (and, where asked to, an Observation or a lost record): every change of the cluster is the controller's.
//
// It promises that nothing but the answer goes to standard output, that lists come in a stable order, and that exit codes
// mean what they say. It uses the same inventory and the same plan as the controller and never imports controllers or the
// embedded world: what only they can do comes in through Wiring.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"offramp.dev/probe"
)

// The exit codes of every command.
const (
	// ExitOK: nothing to do, or done.
	ExitOK = 0
	// ExitError: the answer could not be given, or not all of it.
	ExitError = 1
	// ExitFindings: the answer is that something depends on the field, or that a gate is not met.
	ExitFindings = 2
)

// IOStreams are where a command reads and writes. Out holds the answer and nothing else.
type IOStreams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
}

// Wiring is what the program gives to the commands.
type Wiring struct {
	// Version that the program was built as.
	Version string
	// Now is the clock; times in the answers are told relative to it.
	Now func() time.Time
	// Connect opens the cluster; nil means the kubeconfig that kubectl would use.
	Connect func(ConnectOptions) (*Connection, error)
	// Probe looks at one literal address; nil dials for real. It is called by several goroutines.
	Probe probe.Port
	// Rehearse walks manifests in the embedded world; nil: the program was built without it.
	Rehearse func(context.Context, RehearseOptions) (*Rehearsal, error)
	// Faults that Rehearse can inject.
	Faults []Fault
}

// errFindings ends a command with ExitFindings; its answer has been printed by then.
var errFindings = errors.New("there are findings, or a gate is not met")

// errReported ends a command with ExitError; what is wrong has been printed by then.
var errReported = errors.New("already reported")

// app is one call of the plugin.
type app struct {
	IOStreams
	Wiring
	connect ConnectOptions
}

// Run runs one command line (without the program's name) and returns its exit code.
func Run(ctx context.Context, args []string, streams IOStreams, w Wiring) int {
	a := &app{IOStreams: streams, Wiring: w}
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, errFindings):
		return ExitFindings
	case errors.Is(err, errReported):
		return ExitError
	default:
		a.say("error: %s", oneLine(err.Error()))
		return ExitError
	}
}

// say writes one line for a human.
func (a *app) say(format string, args ...any) {
	_, _ = fmt.Fprintf(a.Err, format+"\n", args...)
}

// root is the whole command tree.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "kubectl-offramp",
		Short:         "Take a cluster off Service.spec.externalIPs, one entry point at a time",
		Long:          rootHelp,
		SilenceUsage:  true,
		SilenceErrors: true,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl offramp"},
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	a.connectFlags(root.PersistentFlags())
	for _, command := range a.commands() {
		command.DisableFlagsInUseLine = true
		root.AddCommand(command)
	}
	return root
}

const rootHelp = `Take a cluster off Service.spec.externalIPs, one entry point at a time.

Start with "inventory": it says what depends on the field, and needs nothing but files or read rights.

Exit codes: 0 nothing to do, or done; 1 error; 2 findings, or a gate that is not met.`

// oneName is what the commands take that are about one entry point.
func oneName(_ *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return errors.New("NAME is missing: give an entry point, or namespace/service of a member")
	case 1:
		return nil
	default:
		return fmt.Errorf("one NAME is taken, %d are given", len(args))
	}
}

// commands lists them in the order in which a migration needs them.
func (a *app) commands() []*cobra.Command {
	return []*cobra.Command{
		a.inventoryCommand(),
		a.preflightCommand(),
		a.planCommand(),
		a.getCommand(),
		a.whyCommand(),
		a.probeCommand(),
		a.advanceCommand(),
		a.pauseCommand(),
		a.resumeCommand(),
		a.rollbackCommand(),
		a.retryCommand(),
		a.extendCommand(),
		a.snapshotCommand(),
		a.exportCommand(),
		a.rehearseCommand(),
		a.versionCommand(),
	}
}
