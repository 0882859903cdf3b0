package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/migration"
	"offramp.dev/observe"
	"offramp.dev/probe"
)

// probeFlags of one call.
type probeFlags struct {
	report, format  string
	rounds          int
	interval, every time.Duration
}

const (
	// mostRounds keep a look within minutes.
	mostRounds = 100
	// fullRounds is how many rounds bodies and latencies need.
	fullRounds = 5
)

func (a *app) probeCommand() *cobra.Command {
	var f probeFlags
	command := &cobra.Command{
		Use:   "probe NAME [--report OBSERVATION]",
		Short: "Probe old and new path of an entry point from where you are, compare them, and report it as vantage External",
		Long: `Probe old and new path of an entry point from this host and compare them. What is probed is what the recorded plan says: no
address, name or path can be given here, nothing else is dialed and no redirect is followed. A path that nobody should use
any more is left alone, because a probe would be seen as traffic.

From inside the cluster it proves no reachability: kube-proxy answers there. From a host outside, --report writes the result
to an Observation of source External, which a policy with vantage External waits for. A report counts for five minutes, so
repeat it: --every 1m. The role is offramp-prober (docs/verification.md).

Exit codes: 0 the new path is good, and like the old one where it must be; 2 it is not, or nothing was learnt; 1 error.`,
		Example: `  kubectl offramp probe shop-web-1a2b3c4d
  kubectl offramp probe shop-web-1a2b3c4d --report office --every 1m`,
		Args:              oneName,
		ValidArgsFunction: a.completeEntryPoints,
		RunE:              func(c *cobra.Command, args []string) error { return a.runProbe(c.Context(), args[0], f) },
	}
	command.Flags().StringVar(&f.report, "report", "", "write the result to the Observation of this name, source External")
	command.Flags().IntVar(&f.rounds, "rounds", fullRounds, "how often each check is made; latencies are compared from 5 on")
	command.Flags().DurationVar(&f.interval, "interval", time.Second, "time between two rounds")
	command.Flags().DurationVar(&f.every, "every", 0, "look again after this time until interrupted; 0: look once")
	outputFlag(command, &f.format, "table", "json", "yaml")
	return command
}

func (f probeFlags) fault() error {
	switch {
	case f.rounds < 1 || f.rounds > mostRounds:
		return fmt.Errorf("--rounds %d: between 1 and %d", f.rounds, mostRounds)
	case f.interval < 0 || f.interval > time.Minute:
		return fmt.Errorf("--interval %s: between 0 and 1m", f.interval)
	case f.every != 0 && f.every < time.Second || f.every > observe.ReportAge:
		return fmt.Errorf("--every %s: 0, or between 1s and %s: a report counts no longer", f.every, observe.ReportAge)
	}
	return nil
}

// runProbe looks once, or until it is interrupted; then the answer is that of the last look.
func (a *app) runProbe(ctx context.Context, name string, f probeFlags) error {
	if err := f.fault(); err != nil {
		return err
	}
	conn, err := a.open()
	if err != nil {
		return err
	}
	for {
		err := a.probeOnce(ctx, conn.Client, name, f)
		if f.every == 0 {
			return err
		}
		// A prober that goes on outlives an API server that does not answer for a while; nothing is reported meanwhile.
		if err != nil && !errors.Is(err, errFindings) && ctx.Err() == nil {
			a.say("error: %s", oneLine(err.Error()))
		}
		if !pause(ctx, f.every) {
			return err
		}
	}
}

// probeOnce reads the plan anew: it may have been recorded, or names may have left a path, since the last look.
func (a *app) probeOnce(ctx context.Context, c client.Client, name string, f probeFlags) error {
	job, err := readProbeJob(ctx, c, name)
	if err != nil {
		return err
	}
	report := a.probe(ctx, job, f)
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted: %w", ctx.Err())
	}
	if f.report != "" {
		if err := a.writeProbes(ctx, c, f.report, report); err != nil {
			return err
		}
	}
	if err := a.printProbe(report, f.format); err != nil {
		return err
	}
	if report.Verdict != string(probe.Good) {
		return errFindings
	}
	return nil
}

// probeJob is what is to be probed.
type probeJob struct {
	name, hash string
	plan       *migration.Plan
	old, fresh bool
}

// readProbeJob takes the targets from the youngest recorded plan, whose hash it verifies, and from nothing else.
func readProbeJob(ctx context.Context, c client.Reader, name string) (*probeJob, error) {
	e, err := find(ctx, c, name)
	if err != nil {
		return nil, err
	}
	if e.Status.Record == "" {
		return nil, fmt.Errorf("%s has no record, so there is no new path to probe yet (gate Recorded, goal Stage)", e.Name)
	}
	stored, err := recordOf(ctx, c, e.Status.Record)
	if err != nil {
		return nil, err
	}
	record, err := observe.DecodeRecord(stored)
	if err != nil {
		return nil, err
	}
	if stored.Spec.EntryPoint != e.Name || len(record.Plans) == 0 {
		return nil, fmt.Errorf("MigrationRecord %s holds no plan of EntryPoint %s", stored.Name, e.Name)
	}
	if observe.Ended(stored) {
		return nil, fmt.Errorf("the walk of %s has ended, so no path of it is probed any more", e.Name)
	}
	last := record.Plans[len(record.Plans)-1]
	facts := &migration.Facts{Record: record, Intent: migration.Intent{Direction: e.Spec.Direction, Attempt: e.Spec.Attempt}}
	job := &probeJob{name: e.Name, hash: last.Hash, plan: last.Plan}
	job.old, job.fresh = observe.PathsToProbe(last.Plan, facts)
	return job, nil
}

// pause waits and tells whether it was not interrupted.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}

// probePort dials for real unless the program was wired otherwise.
func (a *app) probePort() probe.Port {
	if a.Probe == nil {
		return probe.Dialer{}
	}
	return a.Probe
}

// probeHeader fills in what every answer of the command has.
func probeHeader(job *probeJob) *probeReport {
	return &probeReport{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "ProbeComparison", Name: job.name, PlanHash: job.hash,
		Checks: []*probedCheck{}, NotProbed: []string{},
	}
}
