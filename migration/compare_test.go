package migration_test

import (
	"strings"
	"testing"
	"time"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/migration"
)

// several repeats one answer as samples that took so long.
func several(n int, took time.Duration, a migration.Answer) []migration.Sample {
	out := make([]migration.Sample, n)
	for i := range out {
		out[i] = migration.Sample{Answer: a, Took: took}
	}
	return out
}

func TestCompareTellsWhatTheNewPathAnswersOtherwise(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	leaf := func(expires time.Duration, chain string, names ...string) migration.Answer {
		return migration.Answer{TLS: true, Names: names, Begins: now.Add(-time.Hour), Expires: now.Add(expires), Chain: chain}
	}
	many := func(last string) []string { return []string{"a.test", "b.test", "c.test", "d.test", last} }
	ok := migration.Answer{Status: 200, Body: "x"}
	for name, tc := range map[string]struct {
		old, fresh []migration.Sample
		settings   migration.Settings
		want       string
	}{
		"the same answer is no difference":              {several(2, 0, ok), several(2, 0, ok), migration.Settings{}, ""},
		"without a sample of the old path none is told": {nil, several(2, 0, ok), migration.Settings{}, ""},
		"without a sample of the new path none is told": {several(2, 0, ok), nil, migration.Settings{}, ""},
		"another class of status must not be": {
			several(1, 0, ok), several(1, 0, migration.Answer{Status: 302}), migration.Settings{}, "Status!",
		},
		"another status of the same class may be": {several(1, 0, ok), several(1, 0, migration.Answer{Status: 204}), migration.Settings{}, ""},
		"a certificate for another name must not be": {
			several(1, 0, leaf(time.Hour, "c", "a.test")), several(1, 0, leaf(time.Hour, "c", "b.test")), migration.Settings{}, "Certificate!",
		},
		"a certificate for another of many names must not be": {
			several(1, 0, leaf(time.Hour, "c", many("e.test")...)), several(1, 0, leaf(time.Hour, "c", many("f.test")...)), migration.Settings{}, "Certificate!",
		},
		"an expired certificate must not be": {
			several(1, 0, leaf(time.Hour, "c", "a.test")), several(1, 0, leaf(-time.Minute, "c", "a.test")), migration.Settings{}, "Certificate!",
		},
		"a renewed certificate for the same names may be": {
			several(1, 0, leaf(time.Hour, "c", "a.test")), several(1, 0, leaf(time.Hour*99, "c", "a.test")), migration.Settings{}, "",
		},
		"another chain is listed only": {
			several(1, 0, leaf(time.Hour, "c", "a.test")), several(1, 0, leaf(time.Hour, "d", "a.test")), migration.Settings{}, "Chain",
		},
		"another body is listed only": {
			several(2, 0, ok), several(2, 0, migration.Answer{Status: 200, Body: "y"}), migration.Settings{}, "Body",
		},
		"another body fails where the policy says so": {
			several(2, 0, ok), several(2, 0, migration.Answer{Status: 200, Body: "y"}),
			migration.Settings{MustMatch: []v1alpha1.ProbeAspect{v1alpha1.AspectBody}},
			"Body!",
		},
		"a body that changes from round to round is not compared": {
			append(several(1, 0, ok), several(1, 0, migration.Answer{Status: 200, Body: "z"})...),
			several(2, 0, migration.Answer{Status: 200, Body: "y"}),
			migration.Settings{},
			"",
		},
		"a body that was seen once is not compared": {several(1, 0, ok), several(1, 0, migration.Answer{Status: 200, Body: "y"}), migration.Settings{}, ""},
		"three times the latency is listed":         {several(5, 20*time.Millisecond, ok), several(5, 60*time.Millisecond, ok), migration.Settings{}, "Latency"},
		"three times the latency may be allowed": {
			several(5, 20*time.Millisecond, ok), several(5, 60*time.Millisecond, ok), migration.Settings{LatencyPercent: 300}, "",
		},
		"a few milliseconds are noise":     {several(5, time.Millisecond, ok), several(5, 9*time.Millisecond, ok), migration.Settings{}, ""},
		"four latencies are no percentile": {several(4, 20*time.Millisecond, ok), several(5, 60*time.Millisecond, ok), migration.Settings{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, d := range migration.Compare(tc.old, tc.fresh, tc.settings, now) {
				text := string(d.Aspect)
				if d.MustMatch {
					text += "!"
				}
				if d.Old == d.New {
					t.Errorf("%s does not tell what differs", d)
				}
				got = append(got, text)
			}
			if strings.Join(got, ",") != tc.want {
				t.Errorf("got %v, want %s", got, tc.want)
			}
		})
	}
}

func TestPercentile95IsTheNearestRank(t *testing.T) {
	t.Parallel()
	var samples []migration.Sample
	for i := range 100 {
		samples = append(samples, migration.Sample{Took: time.Duration(100-i) * time.Millisecond})
	}
	for n, want := range map[int]time.Duration{0: 0, 1: 100 * time.Millisecond, 20: 99 * time.Millisecond, 100: 95 * time.Millisecond} {
		if got := migration.Percentile95(samples[:n]); got != want {
			t.Errorf("of %d samples: %s, want %s", n, got, want)
		}
	}
}
