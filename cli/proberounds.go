package cli

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"k8s.io/client-go/util/workqueue"

	"offramp.dev/migration"
	"offramp.dev/probe"
)

// probesAtOnce is how many checks of one round run side by side.
const probesAtOnce = 8

// probeReport is the answer of probe.
type probeReport struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	PlanHash   string `json:"planHash"`
	// Verdict: Good, Failed or Inconclusive, of the new path beside the old one.
	Verdict string         `json:"verdict"`
	Checks  []*probedCheck `json:"checks"`
	// NotProbed says which path was left alone, and why.
	NotProbed []string `json:"notProbed"`
	// Reported is the Observation that was written.
	Reported string `json:"reported,omitempty"`

	began time.Time
}

// probedCheck is one check of both paths.
type probedCheck struct {
	Check    string      `json:"check"`
	Port     int32       `json:"port"`
	Protocol string      `json:"protocol"`
	Old      *probedPath `json:"old,omitempty"`
	New      *probedPath `json:"new,omitempty"`
	// Differences of the new path from the old one.
	Differences []migration.Difference `json:"differences"`
}

// probedPath sums up the rounds of one check of one path.
type probedPath struct {
	Address      string `json:"address"`
	Outcome      string `json:"outcome"`
	Rounds       int    `json:"rounds"`
	Good         int    `json:"good"`
	Failed       int    `json:"failed"`
	Inconclusive int    `json:"inconclusive"`
	// P95Milliseconds is the time that 95 of 100 good checks did not exceed.
	P95Milliseconds int64 `json:"p95Milliseconds"`
	// Detail of the last failure, or of the last round where none failed.
	Detail string `json:"detail"`

	at      time.Time
	samples []migration.Sample
}

// probe makes all rounds: in each, old and new path one after the other.
func (a *app) probe(ctx context.Context, job *probeJob, f probeFlags) *probeReport {
	r := probeHeader(job)
	r.began = a.Now()
	for _, c := range job.plan.Checks {
		r.Checks = append(r.Checks, newProbedCheck(job, c))
	}
	for _, left := range []struct {
		path   string
		probed bool
	}{{"old", job.old}, {"new", job.fresh}} {
		if !left.probed {
			r.NotProbed = append(r.NotProbed, "the "+left.path+" path is not probed once names have left it: probes would be seen as traffic")
		}
	}
	for round := range f.rounds {
		if round > 0 && !pause(ctx, f.interval) {
			return r
		}
		workqueue.ParallelizeUntil(ctx, probesAtOnce, len(r.Checks), func(i int) { a.probeBoth(ctx, job, r.Checks[i], job.plan.Checks[i]) })
	}
	r.judge(job.plan.Settings, a.Now())
	return r
}

func newProbedCheck(job *probeJob, c migration.Check) *probedCheck {
	out := &probedCheck{
		Check: fmt.Sprintf("%s %d", c.Kind, c.Port), Port: c.Port, Protocol: protocolOfCheck(c.Kind), Differences: []migration.Difference{},
	}
	if c.Host != "" || c.Path != "" {
		out.Check += " " + c.Host + c.Path
	}
	// Adopted, both are one address.
	if job.old && c.Old != c.New {
		out.Old = &probedPath{Address: c.Old.String()}
	}
	if job.fresh || c.Old == c.New && job.old {
		out.New = &probedPath{Address: c.New.String()}
	}
	return out
}

func (a *app) probeBoth(ctx context.Context, job *probeJob, into *probedCheck, c migration.Check) {
	for _, side := range []struct {
		path *probedPath
		to   netip.Addr
	}{{into.Old, c.Old}, {into.New, c.New}} {
		if side.path == nil {
			continue
		}
		check := probe.Check{
			Address: side.to, Kind: probe.Kind(c.Kind), Host: c.Host, Path: c.Path,
			Timeout: time.Duration(job.plan.Settings.ProbeTimeout) * time.Second,
		}
		// A port that is none stays 0, which the prober refuses.
		if c.Port > 0 && c.Port <= 65535 {
			check.Port = uint16(c.Port)
		}
		side.path.add(a.probePort().Probe(ctx, check), a.Now())
	}
}

func (p *probedPath) add(r probe.Result, at time.Time) {
	p.Rounds, p.at = p.Rounds+1, at
	switch r.Outcome {
	case probe.Good:
		p.Good++
		p.samples = append(p.samples, migration.Sample{Answer: r.Answer, Took: r.Took})
	case probe.Failed:
		p.Failed++
	case probe.Inconclusive:
		p.Inconclusive++
	}
	if p.Failed == 0 || r.Outcome == probe.Failed {
		p.Detail = r.Detail
	}
	switch {
	case p.Failed > 0:
		p.Outcome = string(probe.Failed)
	case p.Good > 0 && p.Inconclusive == 0:
		p.Outcome = string(probe.Good)
	default:
		p.Outcome = string(probe.Inconclusive)
	}
}

// judge compares the paths. One failed check, or one difference that must not be, fails the new path; without any good
// check of it nothing is known. A protocol without an answer leaves the others to speak, as for the controller.
func (r *probeReport) judge(s migration.Settings, now time.Time) {
	good, failed := 0, 0
	for _, c := range r.Checks {
		if c.Old != nil {
			c.Old.P95Milliseconds = migration.Percentile95(c.Old.samples).Milliseconds()
		}
		if c.New == nil {
			continue
		}
		c.New.P95Milliseconds = migration.Percentile95(c.New.samples).Milliseconds()
		if c.Old != nil {
			c.Differences = append(c.Differences, migration.Compare(c.Old.samples, c.New.samples, s, now)...)
		}
		switch {
		case c.New.Outcome == string(probe.Failed) || c.differs():
			failed++
		case c.New.Outcome == string(probe.Good):
			good++
		case c.Protocol == string(probe.TCP):
			// A check that could have had an answer, and learnt nothing.
			r.Verdict = string(probe.Inconclusive)
		}
	}
	switch {
	case failed > 0:
		r.Verdict = string(probe.Failed)
	case good == 0:
		r.Verdict = string(probe.Inconclusive)
	case r.Verdict == "":
		r.Verdict = string(probe.Good)
	}
}

// differs tells whether the new path answers otherwise than it must.
func (c *probedCheck) differs() bool { return c.difference() != nil }

func (c *probedCheck) difference() *migration.Difference {
	for i := range c.Differences {
		if c.Differences[i].MustMatch {
			return &c.Differences[i]
		}
	}
	return nil
}
