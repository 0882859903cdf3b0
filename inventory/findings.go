package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
)

// mostPerReason bounds the findings of one kind about one Service: the first ones tell, the rest is a number.
const mostPerReason = 8

// collector gathers the findings about one object.
type collector struct {
	object string
	out    []v1alpha1.Finding
	count  map[string]int
}

func collect(object string) *collector {
	return &collector{object: object, count: map[string]int{}}
}

// add adds a finding about a field of the object ("" for the object itself).
func (c *collector) add(reason string, severity v1alpha1.Severity, field, message, fix string) {
	c.count[reason]++
	if c.count[reason] > mostPerReason {
		return
	}
	object := c.object
	if field != "" {
		object += " " + field
	}
	c.out = append(c.out, v1alpha1.Finding{Reason: reason, Severity: severity, Object: object, Message: message, Fix: fix})
}

// findings are what was gathered, with one more where some were left out.
func (c *collector) findings() []v1alpha1.Finding {
	out := slices.Clone(c.out)
	told := map[string]bool{}
	for _, f := range c.out {
		more := c.count[f.Reason] - mostPerReason
		if more <= 0 || told[f.Reason] {
			continue
		}
		told[f.Reason] = true
		f.Object = c.object
		f.Message = fmt.Sprintf("The same holds for %d more values.", more)
		out = append(out, f)
	}
	return out
}

// MaxFindings is how many findings one entry point shows.
const MaxFindings = 200

// bounded keeps the worst findings and counts the rest: a status must stay small enough to be stored.
func bounded(list []v1alpha1.Finding) []v1alpha1.Finding {
	if len(list) <= MaxFindings {
		return list
	}
	last := list[MaxFindings-1]
	last.Message = fmt.Sprintf("This and %d more findings, none of them worse, are not shown.", len(list)-MaxFindings)
	last.Fix = "Settle the findings that are shown first."
	return append(slices.Clone(list[:MaxFindings-1]), last)
}

// sortFindings puts the worst first, and repeats nothing.
func sortFindings(list []v1alpha1.Finding) []v1alpha1.Finding {
	slices.SortStableFunc(list, func(a, b v1alpha1.Finding) int {
		return cmp.Or(cmp.Compare(rank(a.Severity), rank(b.Severity)), strings.Compare(a.Reason, b.Reason),
			strings.Compare(a.Object, b.Object), strings.Compare(a.Message, b.Message))
	})
	return slices.Compact(list)
}

func rank(s v1alpha1.Severity) int {
	order := []v1alpha1.Severity{v1alpha1.SeverityBlock, v1alpha1.SeverityAsk, v1alpha1.SeverityInform, v1alpha1.SeverityCleanUp}
	return slices.Index(order, s)
}

// some joins up to three of a list and counts the rest, so that a sentence stays a sentence.
func some(list []string) string {
	const most = 3
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
}

// quote bounds and quotes what a tenant wrote.
func quote(text string) string { return addresspool.Quote(text) }
