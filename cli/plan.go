package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"offramp.dev/api/v1alpha1"
)

// planReport is the answer of plan.
type planReport struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	// Source is what the answer rests on: Files, Status or Record.
	Source       string            `json:"source"`
	Strategy     v1alpha1.Strategy `json:"strategy"`
	Why          string            `json:"why"`
	Services     []string          `json:"services"`
	Ports        []string          `json:"ports"`
	Addresses    []string          `json:"addresses"`
	NewAddresses []string          `json:"newAddresses"`
	Names        []string          `json:"names"`
	// DNS is how each name changes, step by step; empty where the recorded plan is not known.
	DNS     []planName   `json:"dns"`
	Objects []planObject `json:"objects"`
	// Patches are the edits of the members themselves.
	Patches []planPatch `json:"patches"`
	// Order lists the gates, Waits what must pass by the clock, WaitSeconds their sum.
	Order       []planStep      `json:"order"`
	Waits       []planWait      `json:"waits"`
	WaitSeconds int64           `json:"waitSeconds"`
	Lost        []string        `json:"lost"`
	Needs       []planNeed      `json:"needs"`
	Findings    []reportFinding `json:"findings"`
	PlanHash    string          `json:"planHash"`
	// Document is the recorded plan, word for word: its SHA-256 is the hash.
	Document     *v1alpha1.Document `json:"document,omitempty"`
	ApprovedPlan string             `json:"approvedPlan"`
	// Unknown is what this answer cannot know.
	Unknown []string `json:"unknown"`
}

type planObject struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	// Manifest is the object as it is applied.
	Manifest json.RawMessage `json:"manifest"`
}

type planWait struct {
	Gate    string `json:"gate"`
	What    string `json:"what"`
	Seconds int64  `json:"seconds"`
}

func (a *app) planCommand() *cobra.Command {
	var (
		l      look
		format string
	)
	command := &cobra.Command{
		Use:   "plan NAME [-f FILE|DIR|-]...",
		Short: "Show what would be done to one entry point: objects, names, waits, what is lost, and the hash to approve",
		Long: `Show what would be done to one entry point: strategy and why, target objects, every change of a name, the order of the gates,
waits and their sum, what is lost, and what is needed of whom. NAME is an entry point, or namespace/service of a member.

In a cluster it shows the controller's own plan, and the hash that "advance --approve" takes. From files it shows what the
same code would choose, and says what only a cluster can tell; there is no hash, because nothing could be approved.

-o yaml prints the target objects in the order in which they are applied, and the edits of Services as comments. Once the
plan is recorded (goal Stage, which changes no traffic) they are, byte for byte, what its hash was taken over. -o json
holds everything, also the recorded plan itself.

Exit codes: 0 nothing stands in the way; 2 a finding blocks or asks; 1 error.`,
		Args:              oneName,
		ValidArgsFunction: a.completeEntryPoints,
		RunE:              func(c *cobra.Command, args []string) error { return a.runPlan(c.Context(), args[0], l, format) },
	}
	command.Flags().StringArrayVarP(&l.files, "filename", "f", nil, filesUsage)
	outputFlag(command, &format, "table", "json", "yaml")
	return command
}

func (a *app) runPlan(ctx context.Context, name string, l look, format string) error {
	plan, failed, err := a.plan(ctx, name, l)
	if err != nil {
		return err
	}
	err = a.printPlan(plan, format)
	switch {
	case err != nil:
		return err
	case failed:
		return errReported
	case slices.ContainsFunc(plan.Findings, stands):
		return errFindings
	default:
		return nil
	}
}

func (a *app) printPlan(p *planReport, format string) error {
	switch format {
	case "json":
		return a.encode(format, p)
	case "yaml":
		text, err := planYAML(p)
		if err != nil {
			return err
		}
		return a.print(text)
	default:
		return a.print(planText(p))
	}
}

// stands tells a finding that somebody must answer before the walk can begin.
func stands(f reportFinding) bool {
	return f.Severity == v1alpha1.SeverityBlock || f.Severity == v1alpha1.SeverityAsk
}

func (a *app) plan(ctx context.Context, name string, l look) (plan *planReport, failed bool, err error) {
	if len(l.files) == 0 {
		conn, err := a.openOrFiles()
		if err != nil {
			return nil, false, err
		}
		plan, err := clusterPlan(ctx, conn.Client, name)
		return plan, false, err
	}
	paths, _ := a.withoutTemplates(l.files)
	c, err := a.collectFiles(ctx, paths)
	if err != nil {
		return nil, false, err
	}
	plan, err = filePlan(c, name)
	return plan, c.failed, err
}

func (p *planReport) wait(gate, what string, seconds int64) {
	if seconds <= 0 {
		return
	}
	p.Waits = append(p.Waits, planWait{gate, what, seconds})
	p.WaitSeconds += seconds
}

// complete fills in what follows from the rest, and makes sure that no list is null.
func (p *planReport) complete() *planReport {
	p.order()
	p.needs()
	p.APIVersion, p.Kind = v1alpha1.GroupVersion.String(), "PlanReport"
	for _, list := range []*[]string{&p.Services, &p.Ports, &p.Addresses, &p.NewAddresses, &p.Names, &p.Lost, &p.Unknown} {
		*list = notNull(*list)
	}
	p.DNS, p.Objects, p.Patches = append([]planName{}, p.DNS...), append([]planObject{}, p.Objects...), append([]planPatch{}, p.Patches...)
	p.Order, p.Waits, p.Needs = append([]planStep{}, p.Order...), append([]planWait{}, p.Waits...), append([]planNeed{}, p.Needs...)
	return p
}

func planText(p *planReport) string {
	var out strings.Builder
	line := func(label, text string) { fmt.Fprintf(&out, "%-12s%s\n", label, oneLine(text)) }
	fmt.Fprintf(&out, "%s (from %s)\n\n", oneLine(p.Name), strings.ToLower(p.Source))
	line("Strategy", string(p.Strategy))
	line("Why", p.Why)
	line("Services", strings.Join(p.Services, ", "))
	line("Ports", strings.Join(p.Ports, ", "))
	line("Addresses", few(p.Addresses, 8)+" -> "+orText(few(p.NewAddresses, 8), "not known yet"))
	line("Names", orText(few(p.Names, 8), "none"))
	out.WriteString(objectsText(p) + namesText(p) + patchesText(p) + orderText(p) + waitsText(p) + needsText(p))
	section(&out, "What is lost", p.Lost)
	section(&out, "Not known here", p.Unknown)
	if len(p.Findings) > 0 {
		out.WriteString("\nFindings\n")
		for _, f := range p.Findings {
			fmt.Fprintf(&out, "  %s\n", findingLine(v1alpha1.Finding(f)))
			if f.Fix != "" {
				fmt.Fprintf(&out, "      -> %s\n", oneLine(f.Fix))
			}
		}
	}
	if p.PlanHash != "" {
		fmt.Fprintf(&out, "\nPlan %s%s\n", p.PlanHash, approvedText(p))
	}
	return out.String()
}

func objectsText(p *planReport) string {
	if len(p.Objects) == 0 {
		return ""
	}
	t := newTable("KIND", "NAMESPACE", "NAME")
	for _, o := range p.Objects {
		t.row(o.Kind, o.Namespace, o.Name)
	}
	return "\nObjects to create\n" + t.indented()
}

func waitsText(p *planReport) string {
	if len(p.Waits) == 0 {
		return ""
	}
	t := newTable("GATE", "AT LEAST", "FOR")
	for _, w := range p.Waits {
		t.row(w.Gate, span(time.Duration(w.Seconds)*time.Second), w.What)
	}
	return "\nWaits, together at least " + span(time.Duration(p.WaitSeconds)*time.Second) + "\n" + t.indented()
}

func section(out *strings.Builder, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s\n", title)
	for _, l := range lines {
		fmt.Fprintf(out, "  - %s\n", oneLine(l))
	}
}

func approvedText(p *planReport) string {
	if p.ApprovedPlan == p.PlanHash {
		return " (approved)"
	}
	return fmt.Sprintf("\nTo let it move: kubectl offramp advance %s --to CutOver --approve %s", oneLine(p.Name), p.PlanHash)
}

func orText(text, absent string) string {
	if text == "" {
		return absent
	}
	return text
}
