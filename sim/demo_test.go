package sim

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestTheDemoEndsAsAnnouncedAndLosesNothing(t *testing.T) {
	t.Parallel()
	objects, err := Demo()
	if err != nil {
		t.Fatal(err)
	}
	var progress bytes.Buffer
	r, err := Rehearse(t.Context(), Options{Objects: objects, Progress: &progress})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"bank-portal": "Gateway Released", "blue-api": "Gateway Blocked", "crm-frontend": "Gateway Undone",
		"dns-resolver": "LoadBalancer Released", "git-forge": "Gateway Released", "green-api": "Gateway Blocked",
		"iot-broker": "LoadBalancer Released", "legacy-database": "None CleanUp", "media-api": "Gateway Released",
		"monitoring-grafana": "LoadBalancer Released", "office-printer": "Adopt Released", "shop-storefront": "Gateway Released",
	}
	got := map[string]string{}
	for _, e := range r.EntryPoints {
		got[e.Name[:strings.LastIndex(e.Name, "-")]] = string(e.Strategy) + " " + e.Outcome
		if e.Outcome == Released && len(e.Gates) < len(forwardGates()) {
			t.Errorf("%s reports %d gates", e.Name, len(e.Gates))
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	if r.Requests.Lost != 0 || r.Requests.Sent < 10000 {
		t.Errorf("%d of %d requests lost", r.Requests.Lost, r.Requests.Sent)
	}
	if lines := strings.Count(progress.String(), "\n"); lines < 100 {
		t.Errorf("only %d lines of progress", lines)
	}
}

func TestAReportHasTheFieldsThatScriptsRelyOn(t *testing.T) {
	t.Parallel()
	_, r := walkThrough(t, Options{Objects: manifests(t, shortPolicy, keptService)})
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"apiVersion", "assumed", "entryPoints", "entryPoints.gates", "entryPoints.gates.at", "entryPoints.gates.name",
		"entryPoints.gates.reason", "entryPoints.gates.verdict", "entryPoints.name", "entryPoints.outcome", "entryPoints.requests",
		"entryPoints.requests.lost", "entryPoints.requests.sent", "entryPoints.strategy", "entryPoints.why", "entryPoints.writes",
		"entryPoints.writes.api", "entryPoints.writes.dns", "kind", "requests", "requests.lost", "requests.sent",
	}
	if paths := fieldPaths("", got); !slices.Equal(paths, want) {
		t.Errorf("fields are\n%v\nwant\n%v", paths, want)
	}
	if got["kind"] != "RehearsalReport" || got["apiVersion"] != "offramp.dev/v1alpha1" {
		t.Errorf("kind %v, apiVersion %v", got["kind"], got["apiVersion"])
	}
}

// fieldPaths lists the fields of decoded JSON, lists looked through, sorted and once each.
func fieldPaths(prefix string, v any) []string {
	var out []string
	switch x := v.(type) {
	case map[string]any:
		for k, inner := range x {
			path := strings.TrimPrefix(prefix+"."+k, ".")
			out = append(append(out, path), fieldPaths(path, inner)...)
		}
	case []any:
		for _, inner := range x {
			out = append(out, fieldPaths(prefix, inner)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestARehearsalIsTheSameEveryTime(t *testing.T) {
	t.Parallel()
	var texts []string
	for range 2 {
		_, r := walkThrough(t, Options{Objects: manifests(t, shortPolicy, httpService), Seed: 7})
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	if texts[0] != texts[1] {
		t.Errorf("two runs differ:\n%s\n%s", texts[0], texts[1])
	}
}

func TestManifestsThatLackEverythingAreRehearsedWithWhatTheReportSays(t *testing.T) {
	t.Parallel()
	bare := strings.Replace(httpService, "offramp.dev/policy: default, ", "", 1)
	_, r := walkThrough(t, Options{Objects: manifests(t, bare)})
	if e := only(t, r); e.Outcome != Released {
		t.Errorf("%s (%s)", e.Outcome, e.Why)
	}
	all := strings.Join(r.Assumed, "\n")
	for _, want := range []string{
		"three nodes", "DNSZone example.com", "MigrationPolicy rehearsal", "GatewayClass", "IPAddressPool", "Service shop/web opts in",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("the report does not say %q:\n%s", want, all)
		}
	}
}

func TestAddressesInOldSpellingsAreServedWhileTheyStand(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"010.0.0.5", "::ffff:10.0.0.5"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			_, r := walkThrough(t, Options{Objects: manifests(t, shortPolicy, strings.Replace(keptService, "198.18.0.11", `"`+text+`"`, 1))})
			if e := only(t, r); e.Requests.Lost != 0 || e.Requests.Sent == 0 {
				t.Errorf("%d of %d requests lost (%s %s)", e.Requests.Lost, e.Requests.Sent, e.Outcome, e.Why)
			}
		})
	}
}
