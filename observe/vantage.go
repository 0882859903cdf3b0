package observe

import (
	"context"
	"fmt"
	"time"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/migration"
	"offramp.dev/probe"
)

// ReportAge is how old a report of an external prober may be.
const ReportAge = 5 * time.Minute

// vantages lays what the policy's other vantages say over the health that this process measured itself (vantage Pod). A
// vantage that nothing reports from is unknown, never good.
func (l *Looker) vantages(ctx context.Context, plan *migration.Plan, f *migration.Facts) error {
	for _, v := range plan.Settings.Vantages {
		if !f.New.Healthy.Known || !f.New.Healthy.Value {
			return nil
		}
		switch v {
		case v1alpha1.VantagePod:
		case v1alpha1.VantageExternal:
			var all v1alpha1.ObservationList
			if err := l.Cached.List(ctx, &all); err != nil {
				return fmt.Errorf("listing Observations: %w", err)
			}
			f.New.Healthy = external(all.Items, plan, f.Now)
			f.New.Detail = f.New.Healthy.Why
		case v1alpha1.VantageNode, v1alpha1.VantageNeighbour:
			f.New.Healthy = migration.Unseen[bool]("nothing reports from vantage " + string(v) + ": take it out of spec.probes.vantages, or waive Proven")
		}
	}
	return nil
}

// external adds up what external probers report of every check: one fresh failure fails the path, a check without a
// fresh good report leaves it unknown.
func external(all []v1alpha1.Observation, plan *migration.Plan, now time.Time) migration.Seen[bool] {
	out := migration.See(true)
	for _, c := range plan.Checks {
		switch good, failed := reports(all, c, now); {
		case failed != "":
			return migration.Seen[bool]{Known: true, Why: failed}
		case !good && out.Known:
			out = migration.Unseen[bool](fmt.Sprintf("no external prober reported %s:%d in the last %s", c.New, c.Port, ReportAge))
		}
	}
	return out
}

func reports(all []v1alpha1.Observation, c migration.Check, now time.Time) (good bool, failed string) {
	for _, o := range all {
		if o.Status.Source != v1alpha1.SourceExternal {
			continue
		}
		for _, p := range o.Status.Probes {
			age := now.Sub(p.At.Time)
			if p.Address != c.New.String() || p.Port != c.Port || p.Protocol != ProtocolOf(c.Kind) || age > ReportAge || age < -time.Minute {
				continue
			}
			good = good || p.Outcome == "Good"
			if p.Outcome == "Failed" {
				failed = first(failed, fmt.Sprintf("%s reports %s:%d failed: %s", o.Name, c.New, c.Port, p.Message))
			}
		}
	}
	return good, failed
}

// ProtocolOf is the transport protocol of a kind of check.
func ProtocolOf(kind string) string {
	if kind == string(probe.UDP) || kind == string(probe.SCTP) {
		return kind
	}
	return string(probe.TCP)
}
