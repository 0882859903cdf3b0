package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"path/filepath"
	"strings"

	"offramp.dev/inventory"
)

// The parts of SARIF 2.1.0 (OASIS Standard, errata 01) that a preflight has something to say for.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool              sarifTool         `json:"tool"`
		AutomationDetails sarifAutomation   `json:"automationDetails"`
		Invocations       []sarifInvocation `json:"invocations"`
		ColumnKind        string            `json:"columnKind"`
		Results           []sarifResult     `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID                   string             `json:"id"`
		ShortDescription     sarifText          `json:"shortDescription"`
		FullDescription      sarifText          `json:"fullDescription"`
		Help                 sarifText          `json:"help"`
		DefaultConfiguration sarifConfiguration `json:"defaultConfiguration"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifConfiguration struct {
		Level string `json:"level"`
	}
	sarifAutomation struct {
		ID string `json:"id"`
	}
	sarifInvocation struct {
		ExecutionSuccessful bool                `json:"executionSuccessful"`
		Notifications       []sarifNotification `json:"toolExecutionNotifications"`
	}
	sarifNotification struct {
		Level   string    `json:"level"`
		Message sarifText `json:"message"`
	}
	sarifResult struct {
		RuleID              string            `json:"ruleId"`
		RuleIndex           int               `json:"ruleIndex"`
		Level               string            `json:"level"`
		Message             sarifText         `json:"message"`
		Locations           []sarifLocation   `json:"locations"`
		PartialFingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		PhysicalLocation *sarifPhysical `json:"physicalLocation,omitempty"`
		LogicalLocations []sarifLogical `json:"logicalLocations"`
	}
	sarifPhysical struct {
		ArtifactLocation sarifArtifact `json:"artifactLocation"`
		Region           sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI       string `json:"uri"`
		URIBaseID string `json:"uriBaseId,omitempty"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
		Kind               string `json:"kind"`
	}
)

const sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

// sarifOf is the report for code review: the effects are the rules, the consequences the results.
func sarifOf(r *preflightReport, version string) sarifLog {
	run := sarifRun{
		Tool: sarifTool{sarifDriver{
			Name: "kubectl-offramp", Version: version, Rules: sarifRules(),
		}},
		AutomationDetails: sarifAutomation{"offramp/preflight/" + r.Target + "/"},
		Invocations:       []sarifInvocation{{ExecutionSuccessful: r.Complete, Notifications: sarifNotes(r)}},
		ColumnKind:        "utf16CodeUnits", Results: []sarifResult{},
	}
	for _, q := range r.Consequences {
		run.Results = append(run.Results, sarifResultOf(q, r.Target))
	}
	return sarifLog{sarifSchema, "2.1.0", []sarifRun{run}}
}

func sarifRules() []sarifRule {
	out := []sarifRule{}
	for _, d := range inventory.Effects() {
		short, _, _ := strings.Cut(d.Meaning, ". ")
		out = append(out, sarifRule{
			string(d.Effect),
			sarifText{strings.TrimSuffix(short, ".") + "."},
			sarifText{d.Meaning},
			sarifText{d.WayOut},
			sarifConfiguration{sarifLevel(d.Level)},
		})
	}
	return out
}

func ruleIndex(e inventory.Effect) int {
	for i, d := range inventory.Effects() {
		if d.Effect == e {
			return i
		}
	}
	return -1
}

// sarifNotes tell what was not read: a short list of results must not look like a clean input.
func sarifNotes(r *preflightReport) []sarifNotification {
	out := []sarifNotification{}
	if !r.Complete {
		out = append(out, sarifNotification{"error", sarifText{"Some of the input could not be read; standard error says what."}})
	}
	for _, s := range r.Skipped {
		out = append(out, sarifNotification{"warning", sarifText{oneLine(s.File) + ": " + s.Why + "."}})
	}
	for _, u := range r.Unseen {
		out = append(out, sarifNotification{"note", sarifText{oneLine(u.Kind+" was not looked at: "+u.Why) + "."}})
	}
	return out
}

func sarifLevel(l inventory.Level) string { return strings.ToLower(string(l)) }

func sarifResultOf(q reportConsequence, target string) sarifResult {
	return sarifResult{
		RuleID: string(q.Effect), RuleIndex: ruleIndex(q.Effect), Level: sarifLevel(q.Level),
		Message:             sarifText{oneLine(q.subject() + ": " + q.Message + " " + q.Fix)},
		Locations:           []sarifLocation{sarifPlace(q)},
		PartialFingerprints: map[string]string{"offrampObject/v1": fingerprint(q, target)},
	}
}

// fingerprint stays the same while lines move, files are renamed and sentences are reworded.
func fingerprint(q reportConsequence, target string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{target, string(q.Effect), q.Object, q.Field}, "\x00")))
	return hex.EncodeToString(sum[:])
}

// sarifPlace names file and line; what came from a cluster or a stream has only a name.
func sarifPlace(q reportConsequence) sarifLocation {
	out := sarifLocation{LogicalLocations: []sarifLogical{{oneLine(q.Object), "resource"}}}
	if q.Location == nil || q.Location.File == "stdin" {
		return out
	}
	out.PhysicalLocation = &sarifPhysical{sarifFile(q.Location.File), sarifRegion{max(q.Location.Line, 1)}}
	return out
}

// sarifFile is a path as a URI: below the root of the sources where it is relative, as every annotating service expects.
func sarifFile(path string) sarifArtifact {
	slashed := filepath.ToSlash(filepath.Clean(path))
	if filepath.IsAbs(path) {
		return sarifArtifact{URI: (&url.URL{Scheme: "file", Path: slashed}).String()}
	}
	return sarifArtifact{URI: (&url.URL{Path: slashed}).EscapedPath(), URIBaseID: "%SRCROOT%"}
}
