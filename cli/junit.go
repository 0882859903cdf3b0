package cli

import (
	"encoding/xml"
	"fmt"
	"strings"

	"offramp.dev/inventory"
)

// The parts of the JUnit format that Jenkins, GitLab and GitHub's reporters read.
type (
	junitSuites struct {
		XMLName xml.Name `xml:"testsuites"`
		junitCounts
		Suites []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		junitCounts
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
	}
	junitCounts struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Skipped  int    `xml:"skipped,attr"`
		Time     string `xml:"time,attr"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string       `xml:"classname,attr"`
		Name    string       `xml:"name,attr"`
		File    string       `xml:"file,attr,omitempty"`
		Line    int          `xml:"line,attr,omitempty"`
		Time    string       `xml:"time,attr"`
		Failure *junitDetail `xml:"failure"`
		Error   *junitDetail `xml:"error"`
		Skipped *junitDetail `xml:"skipped"`
		Out     string       `xml:"system-out,omitempty"`
	}
	junitDetail struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// printJUnit writes the report as tests: one for each object, failed while it depends on the field, one for the input.
func (a *app) printJUnit(r *preflightReport) error {
	text, err := xml.MarshalIndent(junitOf(r), "", "  ")
	if err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return a.print(xml.Header + string(text) + "\n")
}

func junitOf(r *preflightReport) junitSuites {
	suite := junitSuite{
		junitCounts: junitCounts{Name: "offramp preflight " + r.Target, Time: "0"},
		Properties:  []junitProperty{{"target", r.Target}, {"rules", r.Rules}, {"datapath", oneLine(r.Datapath.String())}},
	}
	suite.add(inputCase(r))
	for _, q := range r.Consequences {
		suite.add(junitCaseOf(r, q))
	}
	for _, s := range r.Skipped {
		suite.add(junitCase{
			Class: junitClass(r, "template"), Name: oneLine(s.File), File: oneLine(s.File), Time: "0", Skipped: &junitDetail{Message: s.Why},
		})
	}
	return junitSuites{junitCounts: suite.junitCounts, Suites: []junitSuite{suite}}
}

// inputCase fails where not everything could be read: a report of nothing must not be green.
func inputCase(r *preflightReport) junitCase {
	out := junitCase{Class: junitClass(r, "input"), Name: "everything could be read", Time: "0", Out: r.verdict()}
	if !r.Complete {
		out.Error = &junitDetail{Message: "some of the input could not be read", Type: "Unreadable", Text: "Standard error says what."}
	}
	return out
}

func junitClass(r *preflightReport, what string) string {
	return "offramp.preflight." + strings.ReplaceAll(r.Target, ".", "_") + "." + what
}

func junitCaseOf(r *preflightReport, q reportConsequence) junitCase {
	kind, name, _ := strings.Cut(q.Object, " ")
	out := junitCase{Class: junitClass(r, oneLine(kind)), Name: strings.TrimSpace(oneLine(name + " " + q.Field)), Time: "0"}
	if q.Location != nil && q.Location.File != "stdin" {
		out.File, out.Line = oneLine(q.Location.File), q.Location.Line
	}
	if !q.Depends {
		out.Out = oneLine(string(q.Effect) + ": " + q.Message)
		return out
	}
	out.Failure = &junitDetail{Message: oneLine(q.Message), Type: string(q.Effect), Text: junitText(q)}
	if q.Effect == inventory.EffectUnreadable {
		out.Failure, out.Error = nil, out.Failure
	}
	return out
}

func junitText(q reportConsequence) string {
	lines := []string{oneLine(q.subject())}
	if len(q.Addresses) > 0 {
		lines = append(lines, "addresses: "+oneLine(few(q.Addresses, 8)))
	}
	if q.Location != nil {
		lines = append(lines, oneLine(q.Location.String()))
	}
	return strings.Join(append(lines, "-> "+oneLine(q.Fix)), "\n")
}

func (s *junitSuite) add(c junitCase) {
	s.Tests++
	switch {
	case c.Error != nil:
		s.Errors++
	case c.Failure != nil:
		s.Failures++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}
