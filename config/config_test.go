package config_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/config"
)

func TestTheLimitsThatWritersCutToAreTheOnesOfTheCRD(t *testing.T) {
	t.Parallel()
	text, err := config.Files.ReadFile("crd/offramp.dev_entrypoints.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		fmt.Sprintf("maxItems: %d\n", v1alpha1.MaxStatusItems), fmt.Sprintf("maxItems: %d\n", v1alpha1.MaxFindings),
		fmt.Sprintf("maxLength: %d\n", v1alpha1.MaxMessage),
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the CRD of EntryPoint has no %q", want)
		}
	}
}

func TestNoRoleHasAWildcardAndSecretsAreReadInOneNamespaceOnly(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"rbac/controller.yaml", "rbac/agent.yaml", "rbac/people.yaml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for doc := range strings.SplitSeq(string(text), "\n---\n") {
			rules := withoutComments(doc)
			if strings.Contains(rules, "*") {
				t.Errorf("%s has a wildcard in\n%s", file, doc)
			}
			if strings.Contains(rules, "secrets") && !strings.Contains(rules, "kind: Role\n") {
				t.Errorf("%s reads Secrets beyond its own namespace in\n%s", file, doc)
			}
		}
	}
}

func withoutComments(doc string) string {
	var out strings.Builder
	for line := range strings.Lines(doc) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// The control plane writes the rules of an aggregated role. Who lists them, even as empty, cannot apply twice: an upgrade
// by server-side apply is a conflict.
func TestAnAggregatedRoleLeavesItsRulesToTheControlPlane(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("rbac/people.yaml")
	if err != nil {
		t.Fatal(err)
	}
	aggregated := 0
	for doc := range strings.SplitSeq(string(text), "\n---\n") {
		if !strings.Contains(doc, "\naggregationRule:") {
			continue
		}
		aggregated++
		if strings.Contains(doc, "\nrules:") {
			t.Errorf("it lists rules:\n%s", doc)
		}
	}
	if aggregated == 0 {
		t.Error("no aggregated role was looked at")
	}
}
