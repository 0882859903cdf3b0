//go:build e2e

package stories

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// result is a line of the table that a run leaves behind.
type result struct {
	Story string `json:"story"`
	// ProxyMode of kube-proxy: nftables or iptables.
	ProxyMode string `json:"kubeProxyMode"`
	Passed    bool   `json:"passed"`
	Sent      int64  `json:"requestsSent"`
	Lost      int64  `json:"requestsLost"`
	// Faulted were lost on the path that the story broke, within the time that it was broken.
	Faulted int64 `json:"requestsLostToTheFault"`
	// Fault is how long it lasted, Losing the measured window: from the first request lost to the last.
	Fault  seconds `json:"faultSeconds"`
	Losing seconds `json:"losingSeconds"`
	Held   int64   `json:"connectionsHeld"`
	Cut    int64   `json:"connectionsCut"`
	Wall   seconds `json:"wallSeconds"`
	// Waits are seconds that the story waited for each gate.
	Waits      map[string]int `json:"waits,omitempty"`
	APIWrites  int            `json:"apiWrites"`
	DNSUpdates int            `json:"dnsUpdates"`
	Note       string         `json:"note,omitempty"`
}

type seconds time.Duration

func (s seconds) MarshalJSON() ([]byte, error) {
	return json.Marshal(int(time.Duration(s).Seconds()))
}

// table collects results; stories run side by side.
type table struct {
	mu   sync.Mutex
	rows []result
}

var results table

// add takes a line in, and leaves the table as JSON and Markdown under a path without its ending: a run that ends in the
// middle keeps what it has measured.
func (b *table) add(r result, path string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rows = append(b.rows, r)
	slices.SortFunc(b.rows, func(x, y result) int { return cmp.Compare(x.Story, y.Story) })
	text, err := json.MarshalIndent(b.rows, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path+".json", text, 0o600), os.WriteFile(path+".md", []byte(b.markdown()), 0o600))
}

// enough insists that the run sent at least so many requests: nothing lost of a few says little. Empty asks for none.
func (b *table) enough(least string) error {
	if least == "" {
		return nil
	}
	want, err := strconv.ParseInt(least, 10, 64)
	if err != nil {
		return fmt.Errorf("OFFRAMP_E2E_REQUESTS: give a whole number: %w", err)
	}
	var sent int64
	for _, r := range b.rows {
		sent += r.Sent
	}
	if sent < want {
		return fmt.Errorf("%d requests sent, OFFRAMP_E2E_REQUESTS asks for %d", sent, want)
	}
	return nil
}

func (b *table) markdown() string {
	var out strings.Builder
	out.WriteString("| story | passed | requests | lost | to the fault | held | cut | wall | API writes | DNS updates |\n|---|---|---|---|---|---|---|---|---|---|\n")
	var sum result
	for _, r := range b.rows {
		fmt.Fprintf(&out, "| %s | %t | %d | %d | %d | %d | %d | %s | %d | %d |\n", r.Story, r.Passed, r.Sent, r.Lost, r.Faulted, r.Held, r.Cut,
			time.Duration(r.Wall).Round(time.Second), r.APIWrites, r.DNSUpdates)
		sum.Sent, sum.Lost, sum.Faulted, sum.Held, sum.Cut = sum.Sent+r.Sent, sum.Lost+r.Lost, sum.Faulted+r.Faulted, sum.Held+r.Held, sum.Cut+r.Cut
	}
	fmt.Fprintf(&out, "| all | | %d | %d | %d | %d | %d | | | |\n", sum.Sent, sum.Lost, sum.Faulted, sum.Held, sum.Cut)
	return out.String()
}
