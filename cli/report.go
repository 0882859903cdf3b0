package cli

import (
	"slices"
	"strings"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/inventory"
)

// ReasonUndecodable is the reason of a finding about a Service in a file that the API server would not take.
const ReasonUndecodable = "Undecodable"

// inventoryReport is the contract of inventory -o json: these keys, lists never null, a stable order.
type inventoryReport struct {
	APIVersion  string             `json:"apiVersion"`
	Kind        string             `json:"kind"`
	EntryPoints []reportEntryPoint `json:"entryPoints"`
	// Findings that belong to no entry point.
	Findings  []locatedFinding     `json:"findings"`
	Conflicts []inventory.Conflict `json:"conflicts"`
	// Skipped are templates that were not rendered.
	Skipped []skipped         `json:"skipped"`
	Summary inventory.Summary `json:"summary"`
	// Complete: everything that was given could be read.
	Complete bool `json:"complete"`
}

type reportEntryPoint struct {
	Name       string                `json:"name"`
	Addresses  []string              `json:"addresses"`
	Services   []string              `json:"services"`
	Ports      []string              `json:"ports"`
	Names      []string              `json:"names"`
	Policy     string                `json:"policy"`
	Strategy   v1alpha1.Strategy     `json:"strategy"`
	Why        string                `json:"why"`
	Verdict    inventory.Verdict     `json:"verdict"`
	Attraction []inventory.Attracted `json:"attraction"`
	DNS        []inventory.Pointer   `json:"dns"`
	Findings   []locatedFinding      `json:"findings"`
}

// locatedFinding is a finding with the place of its object in the input.
type locatedFinding struct {
	reportFinding
	// Location is left out for objects of a cluster.
	Location *location `json:"location,omitempty"`
}

type reportFinding struct {
	Reason   string            `json:"reason"`
	Severity v1alpha1.Severity `json:"severity"`
	Object   string            `json:"object"`
	Message  string            `json:"message"`
	Fix      string            `json:"fix"`
}

func reportFindings(in []v1alpha1.Finding) []reportFinding {
	out := []reportFinding{}
	for _, f := range in {
		out = append(out, reportFinding(f))
	}
	return out
}

func notNull(in []string) []string {
	if in == nil {
		return []string{}
	}
	return in
}

// take is the inventory, with the Services that do not decode as blocked entry points of their own.
func (c *collection) take() inventory.Catalog {
	catalog := inventory.Take(c.Cluster)
	for _, u := range c.unreadable {
		catalog.EntryPoints = append(catalog.EntryPoints, u.entryPoint())
	}
	catalog.Summary.Services += len(c.unreadable)
	catalog.Summary.WithExternalIPs += len(c.unreadable)
	catalog.Summary.EntryPoints += len(c.unreadable)
	slices.SortStableFunc(catalog.EntryPoints, func(a, b inventory.EntryPoint) int { return strings.Compare(a.Name, b.Name) })
	return catalog
}

func (u unreadable) key() string { return u.namespace + "/" + u.name }

func (u unreadable) entryPoint() inventory.EntryPoint {
	object := u.err.Object
	if u.err.Field != "" {
		object += " " + u.err.Field
	}
	return inventory.EntryPoint{
		Name: inventory.Name([]string{u.key()}), Services: []string{u.key()}, Strategy: v1alpha1.StrategyNone, Verdict: inventory.Blocked,
		Why: "it cannot be told what the Service asks for",
		Findings: []v1alpha1.Finding{{
			Reason: ReasonUndecodable, Severity: v1alpha1.SeverityBlock, Object: object,
			Message: "The value " + oneLine(u.err.Err.Error()) + "; the API server would refuse this Service.",
			Fix:     "Correct the value in the manifest, or read the Service from the cluster.",
		}},
	}
}
