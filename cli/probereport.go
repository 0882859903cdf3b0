package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	conflicts "k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/observe"
	"offramp.dev/probe"
)

// mostProbeRows is what an Observation holds, and mostProbeMessage what a row of it.
const (
	mostProbeRows    = 200
	mostProbeMessage = 1024
)

func protocolOfCheck(kind string) string { return observe.ProtocolOf(kind) }

func (a *app) printProbe(r *probeReport, format string) error {
	if format == "json" || format == "yaml" {
		return a.encode(format, r)
	}
	t := newTable("CHECK", "PATH", "ADDRESS", "OUTCOME", "GOOD", "P95", "DETAIL")
	var differences []string
	for _, c := range r.Checks {
		for _, side := range []struct {
			name string
			path *probedPath
		}{{"old", c.Old}, {"new", c.New}} {
			if p := side.path; p != nil {
				t.row(c.Check, side.name, p.Address, p.Outcome, fmt.Sprintf("%d/%d", p.Good, p.Rounds), strconv.FormatInt(p.P95Milliseconds, 10)+"ms", p.Detail)
			}
		}
		for _, d := range c.Differences {
			text := c.Check + ": " + d.String()
			if d.MustMatch {
				text += " (must match)"
			}
			differences = append(differences, text)
		}
	}
	var out strings.Builder
	out.WriteString(t.String())
	section(&out, "Differences", differences)
	section(&out, "Not probed", r.NotProbed)
	fmt.Fprintf(&out, "\nThe new path is %s.\n", strings.ToLower(r.Verdict))
	if r.Reported != "" {
		fmt.Fprintf(&out, "Reported as Observation %s.\n", r.Reported)
	}
	return a.print(out.String())
}

// writeProbes adds the report to the Observation of that name. What it says of other targets stays while it is fresh, so
// that one prober can look at several entry points.
func (a *app) writeProbes(ctx context.Context, c client.Client, name string, r *probeReport) error {
	rows := r.rows()
	err := conflicts.RetryOnConflict(conflicts.DefaultRetry, func() error {
		o := &v1alpha1.Observation{ObjectMeta: metav1.ObjectMeta{Name: name}}
		err := c.Get(ctx, client.ObjectKeyFromObject(o), o)
		if apierrors.IsNotFound(err) {
			err = c.Create(ctx, o)
		}
		if err != nil {
			return err
		}
		if err := a.mergeProbes(&o.Status, r, rows); err != nil {
			return err
		}
		return c.Status().Update(ctx, o)
	})
	if err != nil {
		return fmt.Errorf("reporting as Observation %s: %w (nothing was reported; the role is offramp-prober, see docs/verification.md)", name, err)
	}
	r.Reported = name
	return nil
}

func (a *app) mergeProbes(s *v1alpha1.ObservationStatus, r *probeReport, rows []v1alpha1.ProbeReport) error {
	if s.Source != "" && s.Source != v1alpha1.SourceExternal {
		return fmt.Errorf("status.source is %s: that Observation is somebody else's; choose another name", s.Source)
	}
	now := a.Now()
	taken := map[string]bool{}
	for _, p := range rows {
		taken[tupleOf(p)] = true
	}
	for _, p := range s.Probes {
		if !taken[tupleOf(p)] && now.Sub(p.At.Time) <= observe.ReportAge {
			rows = append(rows, p)
		}
	}
	if len(rows) > mostProbeRows {
		return fmt.Errorf("%d checks do not fit into one Observation, which holds %d; report to one of its own for each entry point", len(rows), mostProbeRows)
	}
	s.Source, s.ReportedAt, s.Probes = v1alpha1.SourceExternal, metav1.NewTime(now), rows
	s.StaleAfterSeconds = int32(observe.ReportAge.Seconds())
	s.CoverageSince = metav1.NewTime(r.began)
	return nil
}

func tupleOf(p v1alpha1.ProbeReport) string {
	return fmt.Sprintf("%s %d %s", p.Address, p.Port, p.Protocol)
}

// rows are one line for each target; of several checks of one target the worst counts. A difference that must not be is a
// failure of the new path.
func (r *probeReport) rows() []v1alpha1.ProbeReport {
	var out []v1alpha1.ProbeReport
	at := map[string]int{}
	for _, c := range r.Checks {
		for _, p := range []*probedPath{c.Old, c.New} {
			if p == nil || p.Rounds == 0 {
				continue
			}
			row := v1alpha1.ProbeReport{
				Address: p.Address, Port: c.Port, Protocol: c.Protocol, At: metav1.NewTime(p.at), Outcome: p.Outcome, Message: p.Detail,
			}
			if d := c.difference(); d != nil && p == c.New {
				row.Outcome, row.Message = string(probe.Failed), d.String()
			}
			row.Message = strings.ToValidUTF8(row.Message[:min(len(row.Message), mostProbeMessage)], "")
			i, known := at[tupleOf(row)]
			switch {
			case !known:
				at[tupleOf(row)] = len(out)
				out = append(out, row)
			case worse(row.Outcome, out[i].Outcome):
				out[i] = row
			}
		}
	}
	return out
}

// worse orders outcomes: a failure before ignorance before a good one.
func worse(a, b string) bool {
	order := map[string]int{string(probe.Good): 0, string(probe.Inconclusive): 1, string(probe.Failed): 2}
	return order[a] > order[b]
}
