package migration

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
)

var trafficNow = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// Short words for long tables.
type (
	seen = v1alpha1.ObservationStatus
	rowT = v1alpha1.TupleTraffic
)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(trafficNow.Add(-d)) }

// report is a usable, empty report of one node: gapless for two hours.
func report(node string, edit func(*seen)) *v1alpha1.Observation {
	o := &v1alpha1.Observation{ObjectMeta: metav1.ObjectMeta{Name: node}, Status: seen{
		Source: v1alpha1.SourceNode, Node: node, ReportedAt: ago(10 * time.Second), StaleAfterSeconds: 60, CoverageSince: ago(2 * time.Hour),
		Watched: "w", Signals: []v1alpha1.Signal{v1alpha1.SignalCounters, v1alpha1.SignalEntries},
		ProxyMode: v1alpha1.ProxyNFTables, BootID: "boot-" + node,
	}}
	if edit != nil {
		edit(&o.Status)
	}
	return o
}

func row(address string, port int32, protocol string, established int64, lastNew *metav1.Time) rowT {
	return rowT{Address: address, Port: port, Protocol: protocol, Established: established, LastNew: lastNew}
}

// rows is one row of the path that is asked for.
func rows(established int64, lastNew *metav1.Time) []rowT {
	return []rowT{row("203.0.113.10", 80, "TCP", established, lastNew)}
}

func trafficInput(reports ...*v1alpha1.Observation) TrafficInput {
	return TrafficInput{
		Now: trafficNow, Nodes: []string{"a", "b"}, Observations: reports, Addresses: []string{"203.0.113.10", "2001:db8::10"},
		Ports: []string{"TCP/80"}, Watched: "w", Settings: Settings{Attraction: v1alpha1.AttractionStatic},
	}
}

func TestAPathIsQuietOnlyWhereEveryNodeSaysSo(t *testing.T) {
	t.Parallel()
	got := Traffic(trafficInput(report("a", nil), report("b", func(s *seen) { s.CoverageSince = ago(time.Hour) })))
	want := Use{QuietSince: See(trafficNow.Add(-time.Hour)), Established: See[int64](0), Survives: true}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// Each row is a way in which nothing could be seen although somebody uses the path. None may end in a known quiet.
func TestAFalseZeroIsUnknown(t *testing.T) {
	t.Parallel()
	edit := func(f func(*seen)) func(*TrafficInput) {
		return func(in *TrafficInput) { f(&in.Observations[1].Status) }
	}
	for name, c := range map[string]struct {
		change func(*TrafficInput)
		why    string
	}{
		"no node is listed":               {func(in *TrafficInput) { in.Nodes = nil }, "no node is listed"},
		"a node has no agent":             {func(in *TrafficInput) { in.Observations = in.Observations[:1] }, "node b: no report"},
		"a node joined during the window": {func(in *TrafficInput) { in.Nodes = append(in.Nodes, "c") }, "node c: no report"},
		"an agent went silent":            {edit(func(s *seen) { s.ReportedAt = ago(61 * time.Second) }), "node b: the last report is of"},
		"an agent asks to be believed forever": {
			edit(func(s *seen) { s.StaleAfterSeconds, s.ReportedAt = 1<<30, ago(time.Hour+1) }),
			"report is of",
		},
		"a report says not how long it holds": {edit(func(s *seen) { s.StaleAfterSeconds = 0 }), "how long it may be believed"},
		"a report was never written":          {edit(func(s *seen) { s.ReportedAt = metav1.Time{} }), "has no time"},
		"coverage never began":                {edit(func(s *seen) { s.CoverageSince = metav1.Time{} }), "begin of coverage"},
		"coverage begins in the future":       {edit(func(s *seen) { s.CoverageSince = ago(-time.Hour) }), "the clocks disagree"},
		"a node's clock is ahead": {
			edit(func(s *seen) { s.ReportedAt = ago(-time.Minute) }),
			"in the future: the clocks disagree",
		},
		"the agent watches an older set": {edit(func(s *seen) { s.Watched = "old" }), "watches another set"},
		"the agent watches nothing":      {edit(func(s *seen) { s.Watched = "" }), "watches another set"},
		"the watched set is not known to us": {
			func(in *TrafficInput) {
				in.Watched = ""
				for _, o := range in.Observations {
					o.Status.Watched = ""
				}
			}, "not known what the agents should watch",
		},
		"a set overflowed":              {edit(func(s *seen) { s.Overflow = true }), "more rows than fit"},
		"packet counters are missing":   {edit(func(s *seen) { s.Signals = s.Signals[1:] }), "signal Counters is missing"},
		"conntrack entries are missing": {edit(func(s *seen) { s.Signals = s.Signals[:1] }), "signal Entries is missing"},
		"no signal at all":              {edit(func(s *seen) { s.Signals = nil }), "signal Counters is missing"},
		"UDP without packet counters": {func(in *TrafficInput) {
			in.Ports, in.Observations[1].Status.Signals = []string{"UDP/53"}, []v1alpha1.Signal{v1alpha1.SignalEntries, v1alpha1.SignalEvents}
		}, "signal Counters is missing"},
		"an eBPF datapath bypasses conntrack": {edit(func(s *seen) { s.ProxyMode = v1alpha1.ProxyOther }), `datapath "Other"`},
		"the datapath is not known":           {edit(func(s *seen) { s.ProxyMode = "" }), `datapath ""`},
		"a flowtable takes packets past the counters": {edit(func(s *seen) {
			s.BlindSpots = []v1alpha1.BlindSpot{{Reason: v1alpha1.BlindOffload, Message: "flowtable inet x f"}}
		}), `node b: the agent may not see everything (Offload: "flowtable inet x f")`},
		"a program on the device takes packets": {edit(func(s *seen) {
			s.BlindSpots = []v1alpha1.BlindSpot{{Reason: v1alpha1.BlindXDP}}
		}), "node b: the agent may not see everything (XDP)"},
		"the report has no boot": {edit(func(s *seen) { s.BootID = "" }), "since which boot"},
		"the node was rebooted": {
			func(in *TrafficInput) { in.BootIDs = map[string]string{"a": "boot-a", "b": "boot-2"} },
			"b: the node was rebooted",
		},
		"the node's boot is not known": {
			func(in *TrafficInput) { in.BootIDs = map[string]string{"a": "boot-a"} },
			"b: the node was rebooted",
		},
		"a count is negative": {edit(func(s *seen) {
			s.Traffic = rows(-1, nil)
		}), "-1 connections cannot be"},
		"a connection is dated in the future": {edit(func(s *seen) {
			at := ago(-time.Hour)
			s.Traffic = rows(0, &at)
		}), "in the future"},
		"a row's coverage begins in the future": {edit(func(s *seen) {
			at := ago(-time.Hour)
			s.Traffic = rows(0, nil)
			s.Traffic[0].Since = &at
		}), "coverage of a row begins at"},
		"two agents claim one node": {
			func(in *TrafficInput) { in.Observations = append(in.Observations, report("b", nil)) },
			"b: 2 reports claim",
		},
		"another node's agent claims the node": {func(in *TrafficInput) { in.Observations[1].Name = "evil" }, "node b: no report"},
		"an external prober claims the node":   {edit(func(s *seen) { s.Source = v1alpha1.SourceExternal }), "node b: no report"},
		"imported evidence names no node":      {edit(func(s *seen) { s.Source, s.Node = v1alpha1.SourceImported, "" }), "node b: no report"},
		"imported evidence is stale": {
			edit(func(s *seen) { s.Source, s.ReportedAt = v1alpha1.SourceImported, ago(time.Hour) }),
			"report is of",
		},
		"no address is asked for":    {func(in *TrafficInput) { in.Addresses = nil }, "no address and port is asked for"},
		"no port is asked for":       {func(in *TrafficInput) { in.Ports = nil }, "no address and port is asked for"},
		"one address cannot be read": {func(in *TrafficInput) { in.Addresses = append(in.Addresses, "[x]") }, "is no address"},
		"one port cannot be read":    {func(in *TrafficInput) { in.Ports = append(in.Ports, "TCP/99999") }, "is no port"},
		"a report is nil":            {func(in *TrafficInput) { in.Observations[1] = nil }, "node b: no report"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := trafficInput(report("a", nil), report("b", nil))
			c.change(&in)
			got := Traffic(in)
			if got.QuietSince.Known || got.Established.Known || got.Survives {
				t.Fatalf("known: %+v", got)
			}
			if !strings.Contains(got.QuietSince.Why, c.why) || got.Established.Why != got.QuietSince.Why {
				t.Errorf("why %q and %q, want %q", got.QuietSince.Why, got.Established.Why, c.why)
			}
		})
	}
}

func TestAReportIsAsFreshAsTheHeartbeatThatNamesIt(t *testing.T) {
	t.Parallel()
	beat := func(report string, age time.Duration) Heartbeats {
		return Heartbeats{"b": {Report: report, At: trafficNow.Add(-age)}}
	}
	for name, c := range map[string]struct {
		report string
		beats  Heartbeats
		source v1alpha1.ObservationSource
		why    string
	}{
		"a heartbeat of the report":                       {"r1", beat("r1", time.Second), v1alpha1.SourceNode, ""},
		"no heartbeat":                                    {"r1", nil, v1alpha1.SourceNode, "last report is of"},
		"a heartbeat that stopped":                        {"r1", beat("r1", 61*time.Second), v1alpha1.SourceNode, "last report is of"},
		"a heartbeat of a later report that is not here":  {"r1", beat("r2", time.Second), v1alpha1.SourceNode, "last report is of"},
		"a heartbeat without a name for one without":      {"", beat("", time.Second), v1alpha1.SourceNode, "last report is of"},
		"a heartbeat from the future":                     {"r1", beat("r1", -time.Minute), v1alpha1.SourceNode, "the clocks disagree"},
		"a node's heartbeat does not vouch for others":    {"r1", beat("r1", time.Second), v1alpha1.SourceImported, "last report is of"},
		"a heartbeat before the report makes it no older": {"r1", beat("r1", 3*time.Minute), v1alpha1.SourceNode, "last report is of " + stampText(ago(2*time.Minute).Time)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := trafficInput(report("a", nil), report("b", func(s *seen) {
				s.Report, s.Source, s.ReportedAt = c.report, c.source, ago(2*time.Minute)
			}))
			in.Heartbeats = c.beats
			got := Traffic(in)
			if got.QuietSince.Known != (c.why == "") || !strings.Contains(got.QuietSince.Why, c.why) {
				t.Errorf("got %+v, want why %q", got.QuietSince, c.why)
			}
		})
	}
}

func TestHeartbeatsThatCannotBeReadAreNamedWhereTheyAreMissed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*seen)
		want   bool
	}{
		"a report that may be kept fresh by one":   {func(s *seen) { s.Report = "r1" }, true},
		"a report of an agent that keeps no Lease": {func(*seen) {}, false},
		"imported evidence":                        {func(s *seen) { s.Report, s.Source = "r1", v1alpha1.SourceImported }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := trafficInput(report("a", nil), report("b", func(s *seen) { s.ReportedAt = ago(2 * time.Minute); c.change(s) }))
			in.HeartbeatsUnseen = "forbidden"
			got := Traffic(in).QuietSince
			if got.Known || strings.Contains(got.Why, "heartbeats cannot be read: forbidden") != c.want {
				t.Errorf("got %+v, want it said: %v", got, c.want)
			}
		})
	}
}

func TestTrafficThatWasSeenIsActive(t *testing.T) {
	t.Parallel()
	minute, second, day := ago(time.Minute), ago(time.Second), ago(24*time.Hour)
	joined := func(port int32, since, lastNew *metav1.Time) []rowT {
		return []rowT{{Address: "203.0.113.10", Port: port, Protocol: "TCP", Since: since, LastNew: lastNew}}
	}
	for name, c := range map[string]struct {
		rows        []rowT
		established int64
		quiet       time.Duration
	}{
		"an idle long connection":                   {[]rowT{row("203.0.113.10", 80, "TCP", 1, nil)}, 1, 2 * time.Hour},
		"a connection that was short":               {[]rowT{row("203.0.113.10", 80, "TCP", 0, &minute)}, 0, time.Minute},
		"the twin address of the other family":      {[]rowT{row("2001:db8::10", 80, "TCP", 2, &minute)}, 2, time.Minute},
		"an IPv4-mapped spelling":                   {[]rowT{row("::ffff:203.0.113.10", 80, "tcp", 3, nil)}, 3, 2 * time.Hour},
		"an upper-case spelling":                    {[]rowT{row("2001:DB8:0::10", 80, "TCP", 3, nil)}, 3, 2 * time.Hour},
		"two rows of one tuple add up":              {append(rows(1, &minute), rows(1, &second)...), 2, time.Second},
		"another port is another path":              {[]rowT{row("203.0.113.10", 443, "TCP", 7, &second)}, 0, 2 * time.Hour},
		"a tuple that is watched since a minute":    {joined(80, &minute, nil), 0, time.Minute},
		"a new connection to a tuple that joined":   {joined(80, &minute, &second), 0, time.Second},
		"a tuple of another path that joined":       {joined(443, &minute, nil), 0, 2 * time.Hour},
		"a row that claims more than its node does": {joined(80, &day, nil), 0, 2 * time.Hour},
		"an attempt that nobody answered": {
			[]rowT{{Address: "203.0.113.10", Port: 80, Protocol: "TCP", HalfOpen: 3, LastAttempt: &second}}, 0, 2 * time.Hour,
		},
		"another protocol is another path":          {[]rowT{row("203.0.113.10", 80, "UDP", 7, &second)}, 0, 2 * time.Hour},
		"another address is another path":           {[]rowT{row("203.0.113.11", 80, "TCP", 7, &second)}, 0, 2 * time.Hour},
		"what is no address is nobody's":            {[]rowT{row("x", 80, "TCP", 7, &second)}, 0, 2 * time.Hour},
		"counts that are too large do not overflow": {append(rows(1<<62, nil), rows(1<<62, nil)...), 1 << 41, 2 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Traffic(trafficInput(report("a", nil), report("b", func(s *seen) { s.Traffic = c.rows })))
			if !got.Established.Known || got.Established.Value != c.established || !got.QuietSince.Value.Equal(trafficNow.Add(-c.quiet)) {
				t.Errorf("got %+v, want %d connections and %s of quiet", got, c.established, c.quiet)
			}
		})
	}
}

func TestConnectionsSurviveTheRemovalOnlyInModesThatKeepThem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode       v1alpha1.ProxyMode
		attraction v1alpha1.Attraction
		want       bool
	}{
		"nftables with a static route":         {v1alpha1.ProxyNFTables, v1alpha1.AttractionStatic, true},
		"iptables with a node address":         {v1alpha1.ProxyIPTables, v1alpha1.AttractionInterface, true},
		"ipvs unbinds the address":             {v1alpha1.ProxyIPVS, v1alpha1.AttractionStatic, false},
		"an announcer withdraws the route":     {v1alpha1.ProxyNFTables, v1alpha1.AttractionAnnouncer, false},
		"nobody knows what attracts":           {v1alpha1.ProxyNFTables, v1alpha1.AttractionUnknown, false},
		"an attraction that was never written": {v1alpha1.ProxyNFTables, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := trafficInput(report("a", nil), report("b", func(s *seen) { s.ProxyMode = c.mode }))
			in.Settings.Attraction, in.ProxyGoes = c.attraction, true
			if got := Traffic(in); got.Survives != c.want || !got.ProxyGoes || !got.QuietSince.Known {
				t.Errorf("got %+v, want survives %v", got, c.want)
			}
		})
	}
}

func TestImportedEvidenceStandsInForAnAgentButDoesNotOverruleIt(t *testing.T) {
	t.Parallel()
	imported := func(established int64) *v1alpha1.Observation {
		o := report("b", func(s *seen) {
			s.Source, s.ProxyMode, s.BootID = v1alpha1.SourceImported, v1alpha1.ProxyOther, ""
			s.Traffic = []rowT{row("203.0.113.10", 80, "TCP", established, nil)}
		})
		o.Name = "router-flows"
		return o
	}
	if got := Traffic(trafficInput(report("a", nil), imported(0))); !got.QuietSince.Known || got.Survives {
		t.Errorf("in place of an agent: %+v", got)
	}
	if got := Traffic(trafficInput(report("a", nil), report("b", nil), imported(4))); got.Established != See[int64](4) {
		t.Errorf("traffic beside a quiet agent: %+v", got)
	}
	silent := report("b", func(s *seen) { s.Overflow = true })
	if got := Traffic(trafficInput(report("a", nil), silent, imported(0))); !got.QuietSince.Known {
		t.Errorf("beside an agent that overflowed: %+v", got)
	}
}

func TestWhatIsUnknownStillShowsWhatWasSeen(t *testing.T) {
	t.Parallel()
	in := trafficInput(report("a", func(s *seen) {
		s.Traffic = []rowT{row("203.0.113.10", 80, "TCP", 5, nil)}
	}))
	in.Nodes = []string{"g", "f", "e", "d", "c", "b", "a", "a"}
	got := Traffic(in)
	if got.Established.Known || got.Established.Value != 5 {
		t.Errorf("established %+v, want 5 and unknown", got.Established)
	}
	if want := "node b: no report; node c: no report; node d: no report; node e: no report; and 2 more"; got.QuietSince.Why != want {
		t.Errorf("why %q, want %q", got.QuietSince.Why, want)
	}
}

func TestWatchedHashIsTheSetAndNothingElse(t *testing.T) {
	t.Parallel()
	claim := func(address string, ports ...string) v1alpha1.AddressClaim {
		return v1alpha1.AddressClaim{Spec: v1alpha1.AddressClaimSpec{Address: address, Holders: []v1alpha1.ClaimHolder{{Ports: ports}}}}
	}
	base := []v1alpha1.AddressClaim{claim("203.0.113.10", "TCP/80", "UDP/53", "TCP/53"), claim("2001:db8::1", "TCP/443")}
	same := []v1alpha1.AddressClaim{
		claim("2001:DB8::1", "TCP/443", "x"),
		claim("203.0.113.10", "UDP/53", "TCP/80", "TCP/80", "TCP/53"), claim("y", "TCP/1"),
	}
	if WatchedHash(base) != WatchedHash(same) || len(WatchedHash(nil)) != 64 {
		t.Errorf("order, spelling or junk changes the hash: %v and %v", Watched(base), Watched(same))
	}
	if WatchedHash(base) == WatchedHash(append(base, claim("203.0.113.10", "TCP/81"))) {
		t.Error("a new port does not change the hash")
	}
	var texts []string
	for _, w := range Watched(base) {
		texts = append(texts, w.String())
	}
	if got, want := strings.Join(texts, " "), "203.0.113.10|53|TCP 203.0.113.10|53|UDP 203.0.113.10|80|TCP 2001:db8::1|443|TCP"; got != want {
		t.Errorf("tuples %s, want %s", got, want)
	}
}

func TestEveryPortOfEverybodyWhoSharesAnAddressIsWatched(t *testing.T) {
	t.Parallel()
	share := func(entryPoint, port string) addresspool.Claim {
		return addresspool.Claim{
			Address: netip.MustParseAddr("192.0.2.9"), Role: addresspool.New, EntryPoint: entryPoint,
			Holders:   []addresspool.Holder{{Namespace: "ingress", Name: "edge", Ports: []string{port}}},
			Listeners: []addresspool.Listener{{Port: port, Protocol: "TCP"}},
		}
	}
	row := addresspool.NewRow(share("a", "TCP/25"))
	row = addresspool.Join(&row, share("b", "TCP/1883"))
	watched := func(spec v1alpha1.AddressClaimSpec) string {
		return fmt.Sprint(Watched([]v1alpha1.AddressClaim{{Spec: spec}}))
	}
	if got := watched(row); got != "[192.0.2.9|25|TCP 192.0.2.9|1883|TCP]" {
		t.Errorf("watched %s", got)
	}
	rest, _ := addresspool.Leave(&row, "a")
	if got := watched(rest); got != "[192.0.2.9|1883|TCP]" {
		t.Errorf("watched after a has left: %s", got)
	}
}
