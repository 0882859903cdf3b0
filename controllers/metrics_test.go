package controllers

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestEveryMetricIsDescribedAndNothingElseIs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	described := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(offramp_[a-z_]+)` \\|").FindAllStringSubmatch(string(page), -1) {
		described[m[1]] = true
	}
	name := regexp.MustCompile(`fqName: "([^"]+)"`)
	for _, c := range Metrics() {
		for _, desc := range descriptions(c) {
			m := name.FindStringSubmatch(desc)
			if len(m) != 2 || !strings.HasPrefix(m[1], "offramp_") || !described[m[1]] {
				t.Errorf("%s is not in the table of docs/operations.md", desc)
				continue
			}
			delete(described, m[1])
		}
	}
	if len(described) > 0 {
		t.Errorf("docs/operations.md describes %v, which do not exist", described)
	}
}

func descriptions(c prometheus.Collector) []string {
	to := make(chan *prometheus.Desc, 16)
	c.Describe(to)
	close(to)
	var out []string
	for d := range to {
		out = append(out, d.String())
	}
	return out
}
