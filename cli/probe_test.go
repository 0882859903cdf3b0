package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/cli"
	"offramp.dev/migration"
	"offramp.dev/probe"
)

// The two addresses under comparison.
const (
	oldLoopback = "127.0.0.1"
	newLoopback = "127.0.0.2"
)

// twoPaths are two real servers on one port of two addresses, and what each was asked.
type twoPaths struct {
	port             int32
	oldSeen, newSeen atomic.Int32
}

// serveBoth starts both; a nil handler leaves the address without a server.
func serveBoth(t *testing.T, old, fresh http.HandlerFunc) *twoPaths {
	t.Helper()
	p := &twoPaths{}
	first, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", oldLoopback+":0")
	if err != nil {
		t.Fatal(err)
	}
	at, err := netip.ParseAddrPort(first.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	p.port = int32(at.Port())
	start(t, first, old, &p.oldSeen)
	if fresh == nil {
		return p
	}
	second, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", fmt.Sprintf("%s:%d", newLoopback, p.port))
	if err != nil {
		t.Fatal(err)
	}
	start(t, second, fresh, &p.newSeen)
	return p
}

func start(t *testing.T, l net.Listener, handler http.HandlerFunc, seen *atomic.Int32) {
	t.Helper()
	server := &httptest.Server{Listener: l, Config: &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Add(1)
		handler(w, r)
	})}}
	server.Start()
	t.Cleanup(server.Close)
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, text) }
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// probed is an entry point with a recorded plan of one HTTP check, and the wiring that may dial loopback.
func probed(t *testing.T, p *twoPaths, change func(*migration.Check), stamps ...v1alpha1.Stamp) (cli.Wiring, client.Client) {
	t.Helper()
	check := migration.Check{
		Old: netip.MustParseAddr(oldLoopback), New: netip.MustParseAddr(newLoopback), Port: p.port, Kind: "HTTP", Host: "shop.example.test", Path: "/",
	}
	if change != nil {
		change(&check)
	}
	plan, err := migration.EncodeDocument(&migration.Plan{
		EntryPoint: "shop-web-1", Strategy: v1alpha1.StrategyGateway, Checks: []migration.Check{check},
		Settings: migration.Settings{Percents: []int32{50, 100}, ProbeTimeout: 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	rec := &v1alpha1.MigrationRecord{
		ObjectMeta: metav1.ObjectMeta{Name: "shop-web-1-1"},
		Spec: v1alpha1.MigrationRecordSpec{
			EntryPoint: "shop-web-1", Plans: []v1alpha1.AttemptPlan{{Attempt: 1, Plan: plan}},
			Journal: append([]v1alpha1.Stamp{{Kind: v1alpha1.StampRecorded, Attempt: 1, At: metav1.NewMicroTime(taken)}}, stamps...),
		},
	}
	w, c := cluster(t, entryPoint(func(e *v1alpha1.EntryPoint) { e.Status.Record = rec.Name }), rec)
	w.Probe, w.Now = probe.Dialer{AllowLoopback: true}, func() time.Time { return taken }
	return w, c
}

func runProbe(t *testing.T, w cli.Wiring, args ...string) (code int, out, messages string) {
	t.Helper()
	return call(t, "", w, append([]string{"probe", "shop-web-1", "--rounds", "2", "--interval", "0"}, args...)...)
}

func TestProbeComparesBothPaths(t *testing.T) {
	t.Parallel()
	elsewhere := serveBoth(t, says("metadata"), says("metadata"))
	for name, tc := range map[string]struct {
		old, fresh http.HandlerFunc
		code       int
		says       string
	}{
		"two that answer alike are good":              {says("shop"), says("shop"), 0, "The new path is good."},
		"another body is listed and does no harm":     {says("shop"), says("another"), 0, "Body: the old path answers sha256"},
		"a backend that fails fails the new path":     {says("shop"), status(http.StatusServiceUnavailable), 2, "The new path is failed."},
		"a new address without a server is failed":    {says("shop"), nil, 2, "connection refused"},
		"a failing old path does not fail the new":    {status(http.StatusBadGateway), says("shop"), 0, "The new path is good."},
		"a redirect is a difference, and not gone to": {says("shop"), http.RedirectHandler(fmt.Sprintf("http://127.0.0.1:%d/latest/meta-data", elsewhere.port), http.StatusFound).ServeHTTP, 2, "Status: the old path answers 2xx, the new one 3xx (must match)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serveBoth(t, tc.old, tc.fresh)
			w, _ := probed(t, p, nil)
			code, out, messages := runProbe(t, w)
			if code != tc.code || !strings.Contains(out, tc.says) {
				t.Errorf("exit code %d: %s%s", code, out, messages)
			}
			if p.oldSeen.Load() != 2 || tc.fresh != nil && p.newSeen.Load() != 2 {
				t.Errorf("the servers were asked %d and %d times, want 2 each", p.oldSeen.Load(), p.newSeen.Load())
			}
		})
	}
	t.Cleanup(func() {
		if elsewhere.oldSeen.Load() != 0 {
			t.Error("the redirect was followed")
		}
	})
}

func TestProbeRefusesWhatAPlanMayNotName(t *testing.T) {
	t.Parallel()
	p := serveBoth(t, says("shop"), says("shop"))
	for name, change := range map[string]func(*migration.Check){
		"an address that serves metadata": func(c *migration.Check) { c.New = netip.MustParseAddr("169.254.169.254") },
		"a host that ends the request":    func(c *migration.Check) { c.Host = "shop\r\nX: y" },
		"a port that is none":             func(c *migration.Check) { c.Port += 65536 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _ := probed(t, p, change)
			if code, out, _ := runProbe(t, w); code != 2 || !strings.Contains(out, "refused: ") || !strings.Contains(out, "The new path is inconclusive.") {
				t.Errorf("exit code %d: %s", code, out)
			}
		})
	}
}

func TestProbeLeavesThePathAloneThatNamesHaveLeft(t *testing.T) {
	t.Parallel()
	p := serveBoth(t, says("shop"), says("shop"))
	w, _ := probed(t, p, nil, v1alpha1.Stamp{Kind: v1alpha1.StampIntent, Step: 2, Attempt: 1, At: metav1.NewMicroTime(taken)})
	code, out, messages := runProbe(t, w, "-o", "json")
	var got struct {
		Kind, Verdict string
		Checks        []struct {
			Old *struct{}
			New *struct{ Good int }
		}
		NotProbed []string
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 {
		t.Fatalf("exit code %d: %v: %s%s", code, err, out, messages)
	}
	if got.Kind != "ProbeComparison" || got.Verdict != "Good" || got.Checks[0].Old != nil || got.Checks[0].New.Good != 2 || len(got.NotProbed) != 1 {
		t.Errorf("%+v", got)
	}
	if p.oldSeen.Load() != 0 {
		t.Error("the old path was probed")
	}
}

func TestAProbeReportIsWhatTheGateReads(t *testing.T) {
	t.Parallel()
	p := serveBoth(t, says("shop"), status(http.StatusServiceUnavailable))
	w, c := probed(t, p, nil)
	row := func(address string, age time.Duration) v1alpha1.ProbeReport {
		return v1alpha1.ProbeReport{Address: address, Port: 80, Protocol: "TCP", At: metav1.NewTime(taken.Add(-age)), Outcome: "Good"}
	}
	before := &v1alpha1.Observation{ObjectMeta: metav1.ObjectMeta{Name: "office"}}
	if err := c.Create(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	before.Status = v1alpha1.ObservationStatus{Source: v1alpha1.SourceExternal, Probes: []v1alpha1.ProbeReport{row("192.0.2.8", time.Minute), row("192.0.2.9", time.Hour)}}
	if err := c.Status().Update(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	if code, out, messages := runProbe(t, w, "--report", "office"); code != 2 || !strings.Contains(out, "Reported as Observation office.") {
		t.Fatalf("exit code %d: %s%s", code, out, messages)
	}
	var got v1alpha1.Observation
	if err := c.Get(context.Background(), client.ObjectKey{Name: "office"}, &got); err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, r := range got.Status.Probes {
		rows = append(rows, fmt.Sprintf("%s %t %s %s", r.Address, r.Port == p.port, r.Protocol, r.Outcome))
		if r.At.IsZero() {
			t.Error("a row has no time")
		}
	}
	want := "127.0.0.1 true TCP Good|127.0.0.2 true TCP Failed|192.0.2.8 false TCP Good"
	if s := got.Status; strings.Join(rows, "|") != want || s.Source != v1alpha1.SourceExternal || s.StaleAfterSeconds != 300 || !s.ReportedAt.Time.Equal(taken) {
		t.Errorf("got %v of %+v", rows, s)
	}
}

func TestADifferenceThatMustNotBeIsReportedAsAFailure(t *testing.T) {
	t.Parallel()
	w, c := probed(t, serveBoth(t, says("shop"), status(http.StatusFound)), nil)
	if code, _, messages := runProbe(t, w, "--report", "outside"); code != 2 {
		t.Fatal(messages)
	}
	var got v1alpha1.Observation
	if err := c.Get(t.Context(), client.ObjectKey{Name: "outside"}, &got); err != nil || len(got.Status.Probes) != 2 {
		t.Fatalf("%v: %+v", err, got.Status)
	}
	if r := got.Status.Probes[1]; r.Address != newLoopback || r.Outcome != "Failed" || !strings.Contains(r.Message, "the new one 3xx") {
		t.Errorf("%+v", r)
	}
}

func TestProbeSaysWhyItCannot(t *testing.T) {
	t.Parallel()
	p := serveBoth(t, says("shop"), says("shop"))
	w, c := probed(t, p, nil)
	node := &v1alpha1.Observation{ObjectMeta: metav1.ObjectMeta{Name: "node-a"}}
	if err := c.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	node.Status = v1alpha1.ObservationStatus{Source: v1alpha1.SourceNode, Node: "node-a"}
	if err := c.Status().Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	unrecorded, _ := cluster(t, entryPoint(nil))
	ended, _ := probed(t, p, nil, v1alpha1.Stamp{Kind: v1alpha1.StampUndone, Attempt: 1, At: metav1.NewMicroTime(taken)})
	for name, tc := range map[string]struct {
		w    cli.Wiring
		args []string
		says string
	}{
		"nothing is recorded":                    {unrecorded, nil, "has no record"},
		"the walk has ended":                     {ended, nil, "has ended"},
		"the Observation is a node's":            {w, []string{"--report", "node-a"}, "somebody else's"},
		"no round":                               {w, []string{"--rounds", "0"}, "--rounds 0"},
		"a report that is stale before the next": {w, []string{"--every", "10m"}, "--every 10m"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if code, out, messages := runProbe(t, tc.w, tc.args...); code != 1 || !strings.Contains(messages, tc.says) {
				t.Errorf("exit code %d: %s%s", code, out, messages)
			}
		})
	}
}
