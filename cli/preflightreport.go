package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/inventory"
)

// preflightReport is the contract of preflight -o json: these keys, lists never null, a stable order.
type preflightReport struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Target as asked for, Rules the release whose rules hold there, Change what that one does.
	Target   string         `json:"target"`
	Rules    string         `json:"rules"`
	Change   string         `json:"change"`
	Datapath reportDatapath `json:"datapath"`
	// Consequences in order: what depends on the field first.
	Consequences []reportConsequence `json:"consequences"`
	// Unseen kinds, with the reason; Skipped are templates that were not rendered.
	Unseen  []reportUnseen   `json:"unseen"`
	Skipped []skipped        `json:"skipped"`
	Summary preflightSummary `json:"summary"`
	// Complete: everything that was given could be read.
	Complete bool `json:"complete"`
}

type reportDatapath struct {
	Proxy string                `json:"proxy"`
	Mode  v1alpha1.ProxyMode    `json:"mode"`
	Gate  inventory.FeatureGate `json:"gate"`
	From  string                `json:"from"`
}

type reportConsequence struct {
	Effect     inventory.Effect `json:"effect"`
	Level      inventory.Level  `json:"level"`
	Depends    bool             `json:"depends"`
	Object     string           `json:"object"`
	Field      string           `json:"field"`
	EntryPoint string           `json:"entryPoint"`
	Addresses  []string         `json:"addresses"`
	Message    string           `json:"message"`
	Fix        string           `json:"fix"`
	Location   *location        `json:"location,omitempty"`
}

type reportUnseen struct {
	Kind string `json:"kind"`
	Why  string `json:"why"`
}

// location is where an object stands in the input; objects of a cluster have none.
type location struct {
	File     string `json:"file"`
	Document int    `json:"document"`
	Line     int    `json:"line"`
}

func (l *location) String() string {
	if l == nil {
		return ""
	}
	return l.File + ":" + strconv.Itoa(l.Line)
}

type preflightSummary struct {
	Services        int `json:"services"`
	WithExternalIPs int `json:"withExternalIPs"`
	EntryPoints     int `json:"entryPoints"`
	// Depends counts the places where something is lost, Dead those that carry no traffic already.
	Depends int `json:"depends"`
	Dead    int `json:"dead"`
}

func newPreflightReport(c *collection, catalog inventory.Catalog, o inventory.Outlook, passed []skipped) *preflightReport {
	r := &preflightReport{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "PreflightReport", Target: o.Release.String(), Rules: fmt.Sprintf("1.%d", o.Release.Rules),
		Change: o.Release.Change(), Datapath: reportDatapath{o.Datapath.Proxy, o.Datapath.Mode, o.Datapath.Gate, o.Datapath.From},
		Consequences: []reportConsequence{}, Unseen: []reportUnseen{}, Skipped: append([]skipped{}, passed...), Complete: !c.failed,
		Summary: preflightSummary{
			Services: catalog.Summary.Services, WithExternalIPs: catalog.Summary.WithExternalIPs, EntryPoints: catalog.Summary.EntryPoints,
		},
	}
	for _, u := range c.Unseen {
		r.Unseen = append(r.Unseen, reportUnseen(u))
	}
	at := newPlaces(c)
	for _, q := range o.Consequences {
		r.add(q, at.place(q.Object(), q.Field))
	}
	return r
}

func (r *preflightReport) add(q inventory.Consequence, at *location) {
	if q.Depends() {
		r.Summary.Depends++
	} else if q.Effect == inventory.EffectDead {
		r.Summary.Dead++
	}
	r.Consequences = append(r.Consequences, reportConsequence{
		q.Effect, q.Level(), q.Depends(), q.Object(), q.Field, q.EntryPoint, notNull(q.Addresses), q.Message, q.Fix, at,
	})
}

// subject is object and field in one.
func (q reportConsequence) subject() string { return strings.TrimSpace(q.Object + " " + q.Field) }

// rows are the cells of csv, with the header first.
func (r *preflightReport) rows() [][]string {
	out := [][]string{{
		"target", "effect", "level", "depends", "object", "field", "entryPoint", "addresses", "message", "fix", "file", "document", "line",
	}}
	for _, q := range r.Consequences {
		file, document, line := q.Location.cells()
		out = append(out, []string{
			r.Target, string(q.Effect), string(q.Level), strconv.FormatBool(q.Depends), q.Object, q.Field, q.EntryPoint,
			strings.Join(q.Addresses, " "), q.Message, q.Fix, file, document, line,
		})
	}
	return out
}

func (l *location) cells() (file, document, line string) {
	if l == nil {
		return "", "", ""
	}
	return l.File, strconv.Itoa(l.Document), strconv.Itoa(l.Line)
}

// effects that occur, in the order of the page.
func (r *preflightReport) effects() []inventory.EffectDoc {
	var out []inventory.EffectDoc
	for _, doc := range inventory.Effects() {
		if slices.ContainsFunc(r.Consequences, func(q reportConsequence) bool { return q.Effect == doc.Effect }) {
			out = append(out, doc)
		}
	}
	return out
}

// preflightTable is one line for each consequence, then what each effect means.
func preflightTable(r *preflightReport) string {
	var out strings.Builder
	fmt.Fprintf(&out, "Target %s: %s\nDatapath: %s\n\n", r.Target, r.Change, oneLine(r.Datapath.String()))
	if len(r.Consequences) > 0 {
		t := newTable("EFFECT", "OBJECT", "ADDRESSES", "ENTRY POINT", "WHERE")
		for _, q := range r.Consequences {
			t.row(string(q.Effect), q.Object, few(q.Addresses, 2), q.EntryPoint, q.Location.String())
		}
		out.WriteString(t.String() + "\n")
	}
	for _, doc := range r.effects() {
		fmt.Fprintf(&out, "%s: %s\n  -> %s\n", doc.Effect, doc.Meaning, doc.WayOut)
	}
	for _, s := range r.Skipped {
		fmt.Fprintf(&out, "Passed over: %s: %s\n", oneLine(s.File), s.Why)
	}
	if len(r.effects())+len(r.Skipped) > 0 {
		out.WriteString("\n")
	}
	out.WriteString(r.verdict() + "\n")
	return out.String()
}

// verdict is the last line: what the exit code says, in words.
func (r *preflightReport) verdict() string {
	s := r.Summary
	text := fmt.Sprintf("%d of %d Services carry the field.", s.WithExternalIPs, s.Services)
	switch {
	case s.Services == 0 && !r.Complete:
		text = "No Service could be read."
	case s.Services == 0:
		text = "The input holds no Service."
	}
	switch {
	case s.Depends > 0:
		text += fmt.Sprintf(" Places that depend on what %s takes away: %d.", r.Rules, s.Depends)
	case r.Complete:
		text += fmt.Sprintf(" Nothing depends on what %s takes away.", r.Rules)
	}
	if s.Dead > 0 {
		text += fmt.Sprintf(" Dead data: %d.", s.Dead)
	}
	if !r.Complete {
		text += " Some of the input could not be read, so this is not the whole answer."
	}
	return text
}

// counted is "1 place" or "2 places".
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (d reportDatapath) String() string {
	switch {
	case d.Proxy == "":
		return "unknown; what is said holds for kube-proxy"
	case d.Gate == inventory.GateNone:
		return d.Proxy + " (" + d.From + "), to which kube-proxy's feature gate does not apply"
	default:
		return strings.Join(strings.Fields(d.Proxy+" "+strings.ToLower(string(d.Mode))), " ") + " (" + d.From + "), AllowServiceExternalIPs: " +
			strings.ToLower(string(d.Gate))
	}
}
