package main

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// crd is what a page needs of a CustomResourceDefinition.
type crd struct {
	Spec struct {
		Names struct {
			Kind       string
			ShortNames []string `json:"shortNames"`
		}
		Versions []struct {
			Name   string
			Schema struct {
				OpenAPIV3Schema schema `json:"openAPIV3Schema"`
			}
		}
	}
}

type schema struct {
	Type, Format, Pattern, Description string
	Enum                               []any
	Required                           []string
	Properties                         map[string]schema
	Items                              *schema
	Minimum, Maximum                   *float64
	MinItems, MaxItems                 *int64
	MinLength, MaxLength               *int64
	Rules                              []rule `json:"x-kubernetes-validations"`
}

type rule struct{ Message string }

// generated is the generated part of a page.
func generated(c crd, sample string) string {
	v := c.Spec.Versions[0]
	var b strings.Builder
	fmt.Fprintf(&b, "\n`offramp.dev/%s`, cluster-scoped", v.Name)
	if len(c.Spec.Names.ShortNames) > 0 {
		fmt.Fprintf(&b, ", short name `%s`", strings.Join(c.Spec.Names.ShortNames, "`, `"))
	}
	b.WriteString(".\n\n## Fields\n\n| field | type | required | limits | meaning |\n|---|---|---|---|---|\n")
	root := v.Schema.OpenAPIV3Schema
	for _, name := range []string{"spec", "status"} {
		if s, ok := root.Properties[name]; ok {
			rows(&b, name, s)
		}
	}
	var messages []string
	collect(&messages, "", root)
	if len(messages) > 0 {
		b.WriteString("\n## What the API server refuses, and says\n\n" + strings.Join(messages, "\n") + "\n")
	}
	b.WriteString("\n## Example\n\n```yaml\n" + sample + "```\n")
	return b.String()
}

func rows(b *strings.Builder, at string, s schema) {
	for _, name := range sorted(s.Properties) {
		p := s.Properties[name]
		field := at + "." + name
		required := ""
		if slices.Contains(s.Required, name) {
			required = "yes"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", field, kindOf(p), required, limits(p), oneLine(p.Description))
		switch {
		case name == "conditions": // metav1.Condition is documented by Kubernetes
		case p.Items != nil && len(p.Items.Properties) > 0:
			rows(b, field+"[]", *p.Items)
		default:
			rows(b, field, p)
		}
	}
}

func kindOf(s schema) string {
	switch {
	case s.Items != nil:
		return "list of " + kindOf(*s.Items)
	case s.Format == "date-time":
		return "time"
	}
	return s.Type
}

func limits(s schema) string {
	var out []string
	if len(s.Enum) > 0 {
		out = append(out, enum(s.Enum))
	}
	out = append(out, span("", s.Minimum, s.Maximum)...)
	out = append(out, span(" items", asFloat(s.MinItems), asFloat(s.MaxItems))...)
	out = append(out, span(" characters", asFloat(s.MinLength), asFloat(s.MaxLength))...)
	if s.Items != nil && len(s.Items.Properties) == 0 {
		if of := limits(*s.Items); of != "" {
			out = append(out, "each: "+of)
		}
	}
	return strings.Join(out, "; ")
}

func enum(values []any) string {
	words := make([]string, 0, len(values))
	for _, v := range values {
		words = append(words, fmt.Sprintf("`%v`", v))
	}
	return strings.Join(words, ", ")
}

func asFloat(i *int64) *float64 {
	if i == nil {
		return nil
	}
	f := float64(*i)
	return &f
}

func span(unit string, low, high *float64) []string {
	switch {
	case low != nil && high != nil && *low == *high:
		return []string{fmt.Sprintf("exactly %.0f%s", *low, unit)}
	case low != nil && high != nil && *low != 0:
		return []string{fmt.Sprintf("%.0f to %.0f%s", *low, *high, unit)}
	case high != nil:
		return []string{fmt.Sprintf("at most %.0f%s", *high, unit)}
	case low != nil && *low != 0:
		return []string{fmt.Sprintf("at least %.0f%s", *low, unit)}
	}
	return nil
}

// collect lists the messages of the rules with the field they stand on.
func collect(out *[]string, at string, s schema) {
	for _, r := range s.Rules {
		where := strings.TrimPrefix(at, ".")
		if where == "" {
			where = "the object"
		}
		*out = append(*out, "- `"+where+"`: "+oneLine(r.Message))
	}
	for _, name := range sorted(s.Properties) {
		p := s.Properties[name]
		collect(out, at+"."+name, p)
		if p.Items != nil {
			collect(out, at+"."+name+"[]", *p.Items)
		}
	}
}

func sorted(m map[string]schema) []string {
	out := make([]string, 0, len(m))
	for name := range m {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

// oneLine fits a description into a cell of a table.
func oneLine(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}
