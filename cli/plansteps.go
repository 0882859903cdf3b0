package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
	"offramp.dev/migration"
)

// planStep is one gate, in the order in which the walk meets it.
type planStep struct {
	Gate string        `json:"gate"`
	Goal v1alpha1.Goal `json:"goal"`
	// Done says when the walk may go on behind it; Seconds is the least that it takes by the clock.
	Done    string `json:"done"`
	Seconds int64  `json:"seconds"`
}

// order lists the gates that a walk of this strategy passes. Where the address stays, no name moves and nothing drains.
func (p *planReport) order() {
	if p.Strategy == v1alpha1.StrategyNone {
		return
	}
	moving := []migration.Gate{
		migration.GateTTLLowered, migration.GateShifted, migration.GateSettled, migration.GateDrained, migration.GateTTLRestored,
	}
	for _, g := range migration.Gates() {
		if g.Name == migration.GateUndone || p.Strategy == v1alpha1.StrategyAdopt && slices.Contains(moving, g.Name) {
			continue
		}
		step := planStep{Gate: string(g.Name), Goal: g.Goal, Done: g.Done}
		for _, w := range p.Waits {
			if w.Gate == step.Gate {
				step.Seconds += w.Seconds
			}
		}
		p.Order = append(p.Order, step)
	}
}

func orderText(p *planReport) string {
	if len(p.Order) == 0 {
		return ""
	}
	t := newTable("GATE", "FROM GOAL", "AT LEAST", "DONE WHEN")
	for _, s := range p.Order {
		least := ""
		if s.Seconds > 0 {
			least = span(time.Duration(s.Seconds) * time.Second)
		}
		t.row(s.Gate, string(s.Goal), least, s.Done)
	}
	return "\nOrder\n" + t.indented()
}

// planName is how the records of one name change.
type planName struct {
	Name string `json:"name"`
	// Zone is the DNSZone object; Primary is written to, Servers are the others that must answer the same.
	Zone    string   `json:"zone"`
	Primary string   `json:"primary"`
	Servers []string `json:"servers"`
	// Manual: a human writes, the walk waits until it sees it.
	Manual bool           `json:"manual"`
	Steps  []planNameStep `json:"steps"`
}

// planNameStep is one change of a name. Sets are what a server may answer then; the first one is the safe one.
type planNameStep struct {
	Step string   `json:"step"`
	Sets []string `json:"sets"`
}

// names lists every step of every name of a recorded plan, the present records first.
func (p *planReport) names(plan *migration.Plan, zone func(string) (v1alpha1.DNSZoneSpec, string)) {
	for _, n := range plan.Names {
		spec, unread := zone(n.Zone)
		if unread != "" {
			p.Unknown = append(p.Unknown, "the servers of DNSZone "+n.Zone+": "+unread)
		}
		out := planName{
			Name: n.Name, Zone: n.Zone, Primary: spec.Primary, Servers: notNull(spec.Servers), Manual: spec.Mode == v1alpha1.ZoneModeManual,
		}
		for step := dnsctl.StepSnapshot; int(step) <= len(plan.Settings.Percents)+1; step++ {
			sets := []string{}
			for _, set := range n.Allowed(step, plan.Settings.Percents) {
				sets = append(sets, set.String())
			}
			out.Steps = append(out.Steps, planNameStep{stepText(step, plan.Settings.Percents), sets})
		}
		p.DNS = append(p.DNS, out)
	}
}

func stepText(step dnsctl.Step, percents []int32) string {
	switch {
	case step == dnsctl.StepSnapshot:
		return "now"
	case step == dnsctl.StepLowTTL:
		return "low TTL"
	case int(step) <= len(percents):
		return fmt.Sprintf("%d %%", percents[step-1])
	default:
		return "original TTL"
	}
}

func namesText(p *planReport) string {
	var out strings.Builder
	for _, n := range p.DNS {
		where := "written at " + orText(n.Primary, "a server that is not known")
		if n.Manual {
			where = "written by hand"
		}
		if len(n.Servers) > 0 {
			where += ", seen at " + few(n.Servers, 4) + " too"
		}
		fmt.Fprintf(&out, "\nName %s in DNSZone %s, %s\n", oneLine(n.Name), oneLine(n.Zone), oneLine(where))
		t := newTable("STEP", "RECORDS")
		for _, s := range n.Steps {
			t.row(s.Step, strings.Join(s.Sets, " or, in turn, "))
		}
		out.WriteString(t.indented())
	}
	return out.String()
}
