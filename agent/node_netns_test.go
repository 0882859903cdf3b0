//go:build netns

package agent

import (
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"offramp.dev/api/v1alpha1"
)

func TestNodeSeesAConnectionInAllThreeSignals(t *testing.T) {
	w := newWorld(t)
	tuples := []Tuple{webTuple, web6Tuple, dnsTuple}
	a := w.watch(tuples...)
	if s := a.sweep(); !slices.Equal(s.Signals, all) || s.ProxyMode != v1alpha1.ProxyNFTables || len(s.Traffic) != 0 {
		t.Fatalf("at rest: %s; log:\n%s", asText(s), a.log)
	}
	for _, tuple := range tuples {
		w.dial(tuple)
	}
	r := a.read()
	for _, tuple := range tuples {
		seenEverywhere(t, r, tuple)
	}
	a.now = a.now.Add(time.Minute)
	a.o.Sweep(a.now, "w", a.set, r)
	for _, tuple := range tuples {
		if got := rowOf(a.o.Status(a.now), tuple); got.Established != 1 || got.LastNew == nil {
			t.Errorf("%s: %s", tuple, asText(got))
		}
	}
}

func seenEverywhere(t *testing.T, r Reading, tuple Tuple) {
	t.Helper()
	if !slices.ContainsFunc(r.Events, func(e Event) bool { return e.Flow.Tuple == tuple && !e.Ended }) {
		t.Errorf("%s: no event", tuple)
	}
	if !slices.ContainsFunc(r.Flows, func(f Flow) bool { return f.Tuple == tuple && f.Replied && !f.Closing && f.Left > 0 }) {
		t.Errorf("%s: no entry", tuple)
	}
	attempts := uint64(1)
	if tuple.Protocol == udp {
		attempts = 0
	}
	if c := r.Counts[tuple]; c.Packets < 1 || c.Attempts != attempts {
		t.Errorf("%s: counted %+v", tuple, c)
	}
}

func TestNodeSeesAConnectionThatOpenedAndClosedBetweenTwoSweeps(t *testing.T) {
	w := newWorld(t)
	run(t, "echo 1 > /proc/sys/net/netfilter/nf_conntrack_tcp_timeout_close")
	a := w.watch(webTuple)
	a.sweep()
	abort(w.dial(webTuple))
	eventually(t, "the entry is gone", func() bool { return run(t, "conntrack -L -d "+external+" 2>/dev/null") == "" })
	s := a.sweep()
	if got := rowOf(s, webTuple); got.Established != 0 || got.LastNew == nil || !got.LastNew.Time.Equal(a.now) {
		t.Errorf("%s", asText(got))
	}
	if got := rowOf(a.sweep(), webTuple); got.Since != nil || got.LastNew.Time.Equal(a.now) {
		t.Errorf("the end of a connection is a gap, or new: %s", asText(got))
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 200 {
		if is() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("never: %s", what)
}

func TestNodeShowsAttemptsThatNobodyAnswersAndDoesNotCountThem(t *testing.T) {
	w := newWorld(t)
	a := w.watch(refusedTuple, silentTuple, goneTuple)
	a.sweep()
	for _, tuple := range []Tuple{refusedTuple, silentTuple, goneTuple} {
		if _, err := w.try(tuple); err == nil {
			t.Fatalf("%s answers", tuple)
		}
	}
	s := a.sweep()
	for tuple, open := range map[Tuple]int64{refusedTuple: 0, silentTuple: 1, goneTuple: 0} {
		got := rowOf(s, tuple)
		if got.LastNew != nil || got.Established != 0 || got.HalfOpen != open || got.LastAttempt == nil || !got.LastAttempt.Time.Equal(a.now) {
			t.Errorf("%s: %s", tuple, asText(got))
		}
	}
}

func TestNodeCountsWhatConntrackDoesNotTrack(t *testing.T) {
	w := newWorld(t)
	run(t, `nft delete table inet test; ip route add 203.0.113.11 via 10.0.2.2
nft add table ip untracked; nft 'add chain ip untracked p { type filter hook prerouting priority raw; }'
nft add rule ip untracked p ip daddr 203.0.113.11 notrack; nft add rule ip untracked p ip saddr 203.0.113.11 notrack`)
	w.server.sh("ip addr add 203.0.113.11/32 dev lo")
	direct := Tuple{Address: goneTuple.Address, Port: echoPort, Protocol: tcp}
	a := w.watch(direct)
	a.sweep()
	w.dial(direct)
	s := a.sweep()
	if got := rowOf(s, direct); got.Established != 0 || got.LastNew == nil || !got.LastNew.Time.Equal(a.now) {
		t.Errorf("a connection without an entry: %s", asText(got))
	}
}

func TestNodeCountsWhatStartsOnTheNode(t *testing.T) {
	w := newWorld(t)
	run(t, "ip route add "+external+" via "+serverAddress)
	a := w.watch(webTuple)
	a.sweep()
	c, err := net.Dial("tcp", netip.AddrPortFrom(webTuple.Address, 80).String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	talk(t, c)
	seenEverywhere(t, a.read(), webTuple)
}

func TestNodeTellsAnSCTPAttemptFromOtherPackets(t *testing.T) {
	w := newWorld(t)
	a := w.watch(sctpTuple)
	a.sweep()
	var c net.Conn
	var err error
	w.client.do(func() { c, err = net.Dial("ip4:132", external) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	// Source port 1000, destination port 132, no tag and checksum; then a chunk of that type.
	for _, chunk := range []byte{chunkInit, 0, 0} {
		if _, err := c.Write([]byte{3, 232, 0, 132, 0, 0, 0, 0, 0, 0, 0, 0, chunk, 0, 0, 4}); err != nil {
			t.Fatal(err)
		}
	}
	if got := a.read().Counts[sctpTuple]; got != (Count{Packets: 3, Attempts: 1}) {
		t.Errorf("counted %+v", got)
	}
}

// The socket of events is made deaf for what is watched: the listing that checks the events finds the connection, and says so.
func TestNodeFindsConnectionsOfWhichConntrackDoesNotTell(t *testing.T) {
	w := newWorld(t)
	a := w.watch(webTuple)
	for range settledAfter {
		a.sweep()
	}
	if err := a.node.events.filter(watchedSet(goneTuple)); err != nil {
		t.Fatal(err)
	}
	w.dial(webTuple)
	for range doubtAfter {
		a.sweep()
	}
	s := a.sweep()
	if got := rowOf(s, webTuple); got.Established != 1 || s.Gaps[len(s.Gaps)-1].Reason != v1alpha1.GapEvents {
		t.Errorf("%s; log:\n%s", asText(s), a.log)
	}
}

func TestNodeNoticesWhenSomebodyTouchesItsTable(t *testing.T) {
	for name, script := range map[string]string{
		"the ruleset is flushed":           "nft flush ruleset",
		"the table is deleted":             "nft delete table inet offramp-agent",
		"the rules are flushed":            "nft flush table inet offramp-agent",
		"a rule is added":                  "nft insert rule inet offramp-agent attempt4 accept",
		"a chain is flushed":               "nft flush chain inet offramp-agent output",
		"the table sleeps":                 "nft 'add table inet offramp-agent { flags dormant; }'",
		"elements are deleted":             "nft flush set inet offramp-agent packets4",
		"a saved ruleset is loaded again":  "nft list ruleset > saved; nft flush ruleset; nft -f saved",
		"another program makes such a one": "nft delete table inet offramp-agent; nft add table inet offramp-agent",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			t.Chdir(t.TempDir())
			a := w.watch(webTuple)
			a.sweep()
			w.dial(webTuple)
			if s := a.sweep(); len(s.Gaps) != 1 {
				t.Fatalf("a gap before anything happened: %s", asText(s))
			}
			run(t, script)
			s := a.sweep()
			if last := s.Gaps[len(s.Gaps)-1]; last.Reason != v1alpha1.GapCounters && last.Reason != v1alpha1.GapDatapath || !s.CoverageSince.Time.Equal(a.now) {
				t.Fatalf("no gap: %s", asText(s))
			}
			if !strings.Contains(asText(s.Gaps), string(v1alpha1.GapCounters)) || !slices.Equal(s.Signals, all) {
				t.Errorf("signals %v, gaps %s", s.Signals, asText(s.Gaps))
			}
			w.proxy()
			_, _ = w.try(webTuple)
			if c := a.read().Counts[webTuple]; c.Attempts == 0 {
				t.Errorf("the table that was made again counted %+v", c)
			}
		})
	}
}

func TestNodeNoticesThatSomebodyTookAnElementThatItWantsToDelete(t *testing.T) {
	w := newWorld(t)
	a := w.watch(webTuple, dnsTuple)
	a.sweep()
	run(t, "nft delete element inet offramp-agent packets4 '{ 203.0.113.10 . udp . 53 }'")
	delete(a.set, dnsTuple)
	if s := a.sweep(); s.Gaps[len(s.Gaps)-1].Reason != v1alpha1.GapCounters || !slices.Equal(s.Signals, all) {
		t.Errorf("%s\n%s", asText(s), a.log)
	}
}

func TestNodeTakesACounterThatWasResetForAGapOfItsTuple(t *testing.T) {
	w := newWorld(t)
	a := w.watch(webTuple, dnsTuple)
	a.sweep()
	w.dial(webTuple)
	a.sweep()
	run(t, `e='inet offramp-agent packets4 { 203.0.113.10 . tcp . 80 }'; nft "delete element $e; add element $e"`)
	s := a.sweep()
	if got := rowOf(s, webTuple); got.Since == nil || !got.Since.Time.Equal(a.now) {
		t.Errorf("%s", asText(s))
	}
}

func TestNodeTakesAFlushOfConntrackForAGapOfItsTuple(t *testing.T) {
	for name, how := range map[string]func(*watcher) v1alpha1.ObservationStatus{
		"by listings": (*watcher).sweep, "by lookups": (*watcher).settle,
	} {
		t.Run(name, func(t *testing.T) { flushed(t, how) })
	}
}

func flushed(t *testing.T, begin func(*watcher) v1alpha1.ObservationStatus) {
	w := newWorld(t)
	// Without rules of its own an idle connection makes no packet that would bring the entry back.
	a := w.watch(webTuple, dnsTuple)
	before := begin(a)
	w.dial(webTuple)
	if got := rowOf(a.sweep(), webTuple); got.Established != 1 {
		t.Fatalf("before: %s", asText(got))
	}
	run(t, "conntrack -F 2>/dev/null")
	if got := rowOf(a.sweep(), webTuple); got.Established != 1 {
		t.Errorf("at once: %s", asText(got))
	}
	s := a.sweep()
	if got := rowOf(s, webTuple); got.Since == nil || !got.Since.Time.Equal(a.now) || got.Established != 0 {
		t.Errorf("then: %s", asText(got))
	}
	if last := s.Gaps[len(s.Gaps)-1]; last.Reason != v1alpha1.GapVanished || s.CoverageSince != before.CoverageSince {
		t.Errorf("%s", asText(s))
	}
}

func TestNodeTakesAnOverflowOfEventsForAGap(t *testing.T) {
	w := newWorld(t)
	a := w.watch(dnsTuple)
	small, err := Listen(1)
	if err != nil {
		t.Fatal(err)
	}
	a.node.events = small
	a.sweep()
	small.mu.Lock() // nobody reads
	w.client.do(func() {
		for range 500 {
			c, err := net.Dial("udp4", netip.AddrPortFrom(dnsTuple.Address, 53).String())
			if err == nil {
				_, _ = c.Write([]byte("x"))
				_ = c.Close()
			}
		}
	})
	small.mu.Unlock()
	s := a.sweep()
	if last := s.Gaps[len(s.Gaps)-1]; last.Reason != v1alpha1.GapEvents || !s.CoverageSince.Time.Equal(a.now) {
		t.Fatalf("%s", asText(s))
	}
	w.dial(dnsTuple)
	if r := a.read(); !slices.Equal(r.Signals, all) || len(r.Losses) != 0 || len(r.Events) == 0 {
		t.Errorf("after it: signals %v, losses %v, %d events", r.Signals, r.Losses, len(r.Events))
	}
}

func TestNodeIsNotDrownedByTheEventsOfOthers(t *testing.T) {
	w := newWorld(t)
	a := w.watch(webTuple)
	small, err := Listen(1)
	if err != nil {
		t.Fatal(err)
	}
	a.node.events = small
	a.sweep()
	small.mu.Lock() // nobody reads
	w.client.do(func() {
		for i := range 500 {
			c, err := net.Dial("udp4", fmt.Sprintf("10.0.2.%d:53", i%200+3))
			if err == nil {
				_, _ = c.Write([]byte("x"))
				_ = c.Close()
			}
		}
	})
	small.mu.Unlock()
	if r := a.read(); len(r.Losses) != 0 {
		t.Errorf("losses %v", r.Losses)
	}
	w.dial(webTuple)
	if r := a.read(); len(r.Losses) != 0 || len(r.Events) == 0 {
		t.Errorf("then: losses %v, %d events", r.Losses, len(r.Events))
	}
}

func TestNodeLeavesOutEventsWhereTheNodeSendsNone(t *testing.T) {
	w := newWorld(t)
	a := w.watch(webTuple)
	a.sweep()
	run(t, "echo 0 > "+eventSwitch)
	t.Cleanup(func() { run(t, "echo 2 > "+eventSwitch) })
	for range 3 {
		if s := a.sweep(); slices.Contains(s.Signals, v1alpha1.SignalEvents) {
			t.Fatalf("signals %v", s.Signals)
		}
	}
	if n := strings.Count(a.log.String(), "nf_conntrack_events"); n != 1 {
		t.Errorf("said %d times:\n%s", n, a.log)
	}
	w.dial(webTuple)
	if got := rowOf(a.sweep(), webTuple); got.LastNew == nil {
		t.Errorf("%s", asText(got))
	}
	run(t, "echo 2 > "+eventSwitch)
	if s := a.sweep(); !slices.Equal(s.Signals, all) || !s.CoverageSince.Time.Equal(a.now) {
		t.Errorf("events that came back are no gap: %s", asText(s))
	}
}

func TestNodeWatchesTenThousandTuples(t *testing.T) {
	w := newWorld(t)
	var many []Tuple
	for i := range 10_000 {
		addr := netip.AddrFrom4([4]byte{198, 18, byte(i >> 8), byte(i)})
		if i%2 == 1 {
			addr = netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 14: byte(i >> 8), 15: byte(i)})
		}
		many = append(many, Tuple{Address: addr, Port: 443, Protocol: []string{tcp, udp, sctp}[i%3]})
	}
	a := w.watch(many...)
	if s := a.sweep(); !slices.Equal(s.Signals, all) || s.Overflow {
		t.Fatalf("%s\n%s", asText(s), a.log)
	}
	a.set[webTuple] = true
	a.sweep()
	w.dial(webTuple)
	began := time.Now()
	s := a.sweep()
	t.Logf("a sweep of %d tuples took %s", len(a.set), time.Since(began))
	if got := rowOf(s, webTuple); got.Established != 1 || got.Since == nil || len(s.Gaps) != 1 {
		t.Errorf("%s", asText(s))
	}
	for _, tuple := range many[:5000] {
		delete(a.set, tuple)
	}
	if r := a.read(); len(r.Counts) != 5001 || r.Counts[webTuple].Attempts != 1 || len(r.Losses) != 0 {
		t.Errorf("%d counts, web %+v, losses %v", len(r.Counts), r.Counts[webTuple], r.Losses)
	}
}

// settle sweeps until entries are looked up, not listed.
func (a *watcher) settle() v1alpha1.ObservationStatus {
	a.t.Helper()
	for range settledAfter {
		a.sweep()
	}
	a.lookups()
	return a.sweep()
}

// lookups fails the test if the table is listed from now on.
func (a *watcher) lookups() {
	a.t.Helper()
	a.node.roll.list = func(map[Tuple]bool) ([]Flow, error) {
		a.t.Error("the whole table was listed")
		return entries(a.set)
	}
}

func TestNodeAgreesWithConntrackAndNft(t *testing.T) {
	for name, how := range map[string]func(*watcher) v1alpha1.ObservationStatus{
		"by listings": (*watcher).sweep, "by lookups": (*watcher).settle,
	} {
		t.Run(name, func(t *testing.T) { agrees(t, how) })
	}
}

func agrees(t *testing.T, begin func(*watcher) v1alpha1.ObservationStatus) {
	w := newWorld(t)
	tuples := []Tuple{webTuple, web6Tuple, dnsTuple, refusedTuple, silentTuple}
	a := w.watch(tuples...)
	begin(a)
	for i := range 40 {
		c, err := w.try(tuples[i%len(tuples)])
		if err != nil {
			continue
		}
		t.Cleanup(func() { _ = c.Close() })
		talk(t, c)
		if i%7 == 0 {
			abort(c)
		}
	}
	r := a.read()
	listed := run(t, "conntrack -L -f ipv4 2>/dev/null; conntrack -L -f ipv6 2>/dev/null")
	rules := run(t, "nft list table inet "+tableName)
	for _, tuple := range tuples {
		mine := 0
		for _, f := range r.Flows {
			if f.Tuple == tuple {
				mine++
			}
		}
		if theirs := linesOf(listed, tuple); mine != theirs || tuple == webTuple && mine == 0 {
			t.Errorf("%s: %d entries, and %d by conntrack:\n%s", tuple, mine, theirs, listed)
		}
		want := fmt.Sprintf("%s . %s . %d counter packets %d ", tuple.Address, strings.ToLower(tuple.Protocol), tuple.Port, r.Counts[tuple].Packets)
		if !strings.Contains(rules, want) {
			t.Errorf("nft does not list %q:\n%s", want, rules)
		}
	}
}

// linesOf counts the lines of conntrack -L whose original destination is a tuple.
func linesOf(listed string, t Tuple) int {
	n := 0
	for line := range strings.Lines(listed) {
		fields := strings.Fields(line)
		dst := slices.IndexFunc(fields, func(f string) bool { return strings.HasPrefix(f, "dst=") })
		port := slices.IndexFunc(fields, func(f string) bool { return strings.HasPrefix(f, "dport=") })
		if dst < 0 || port < 0 || !strings.Contains(line, strings.ToLower(t.Protocol)) {
			continue
		}
		addr, err := netip.ParseAddr(strings.TrimPrefix(fields[dst], "dst="))
		if err == nil && addr == t.Address && fields[port] == fmt.Sprintf("dport=%d", t.Port) {
			n++
		}
	}
	return n
}

func TestNodeReplacesWhatADeadAgentLeftBehindAndBeginsAnew(t *testing.T) {
	w := newWorld(t)
	dead := w.watch(webTuple)
	dead.sweep()
	w.dial(webTuple)
	dead.sweep()
	a := w.watch(webTuple, dnsTuple)
	s := a.sweep()
	if len(s.Gaps) != 1 || s.Gaps[0].Reason != v1alpha1.GapStarted || !s.CoverageSince.Time.Equal(a.now) {
		t.Errorf("%s", asText(s))
	}
	if c := a.read().Counts; c[webTuple] != (Count{}) || len(c) != 2 {
		t.Errorf("counted what the other had: %v", c)
	}
}

func TestNodeRemovesItsTableWhenItIsClosed(t *testing.T) {
	w := newWorld(t)
	a := w.watch(webTuple)
	a.sweep()
	if err := a.node.Close(); err != nil {
		t.Fatal(err)
	}
	if tables := run(t, "nft list tables"); strings.Contains(tables, tableName) || !strings.Contains(tables, "kube-proxy") {
		t.Errorf("left: %s", tables)
	}
}

func TestNodeFindsTheProxyMode(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		mode   v1alpha1.ProxyMode
	}{
		"nothing":                {"true", ""},
		"nftables":               {"nft add table ip6 kube-proxy", v1alpha1.ProxyNFTables},
		"iptables":               {"nft add table ip nat; nft add chain ip nat KUBE-SERVICES", v1alpha1.ProxyIPTables},
		"a leftover of another":  {"nft add table ip kube-proxy; nft add table ip nat; nft add chain ip nat KUBE-SERVICES", ""},
		"ipvs":                   {"nft add table ip nat; nft add chain ip nat KUBE-SERVICES; ip link add kube-ipvs0 type veth", v1alpha1.ProxyIPVS},
		"a plugin that takes it": {"nft add table ip kube-proxy; ip link add cilium_host type veth", v1alpha1.ProxyOther},
	} {
		t.Run(name, func(t *testing.T) {
			alone(t)
			run(t, "nft flush ruleset; "+c.script)
			t.Cleanup(func() {
				run(t, "nft flush ruleset; for l in kube-ipvs0 cilium_host; do ip link del $l 2>/dev/null || true; done")
			})
			if mode, err := proxyMode(); err != nil || mode != c.mode {
				t.Errorf("mode %q, error %v", mode, err)
			}
		})
	}
}

func TestNodeSaysWhatMayTakePacketsPastIt(t *testing.T) {
	w := newWorld(t)
	a := w.watch(webTuple)
	run(t, "tc qdisc add dev toclient clsact") // without a program it takes nothing
	if s := a.sweep(); len(s.BlindSpots) != 0 {
		t.Fatalf("blind at rest: %s", asText(s.BlindSpots))
	}
	attach(t, "toserver")
	s := a.sweep()
	if len(s.BlindSpots) != 1 || s.BlindSpots[0] != (v1alpha1.BlindSpot{Reason: v1alpha1.BlindXDP, Message: "toserver"}) {
		t.Errorf("%s", asText(s))
	}
	run(t, "ip link set dev toserver xdpgeneric off")
	if s := a.sweep(); len(s.BlindSpots) != 0 || !s.CoverageSince.Time.Equal(a.now) {
		t.Errorf("what went past is no gap: %s", asText(s))
	}
}

func TestNodeTellsWhetherTheBackendSeesTheClient(t *testing.T) {
	w := newWorld(t)
	run(t, "nft add table ip hide; nft 'add chain ip hide p { type nat hook postrouting priority srcnat; }'; nft add rule ip hide p ip protocol tcp oifname toserver masquerade")
	a := w.watch(webTuple, web6Tuple)
	a.sweep()
	w.dial(webTuple)
	w.dial(web6Tuple)
	s := a.sweep()
	if got := rowOf(s, webTuple); got.Established != 1 || got.Translated != 1 {
		t.Errorf("with source NAT: %s", asText(got))
	}
	if got := rowOf(s, web6Tuple); got.Established != 1 || got.Translated != 0 {
		t.Errorf("without: %s", asText(got))
	}
}

func TestNodeFindsItsOwnListeners(t *testing.T) {
	w := newWorld(t)
	run(t, "ip addr add "+external+"/32 dev lo; ip addr add "+external6+"/128 dev lo nodad")
	t.Cleanup(func() { run(t, "ip addr flush dev lo scope global") })
	w.listen("tcp", "0.0.0.0:80")
	w.listen("tcp", "10.0.2.1:81")
	w.listen("udp", external+":53")
	a := w.watch(webTuple, refusedTuple, dnsTuple, web6Tuple, goneTuple)
	s := a.sweep()
	for tuple, want := range map[Tuple]bool{webTuple: true, refusedTuple: false, dnsTuple: true, web6Tuple: false, goneTuple: false} {
		if got := rowOf(s, tuple); got.Listener != want {
			t.Errorf("%s: %s", tuple, asText(got))
		}
	}
}

func TestNodeTakesDropsOfAFullTableForAGap(t *testing.T) {
	w := newWorld(t)
	a := w.watch(webTuple)
	before := a.sweep()
	limit, err := numberIn(limitFile)
	if err != nil {
		t.Fatal(err)
	}
	others := func(from, to int) {
		var pairs []pair
		for i := from; i < to; i++ {
			client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{50, byte(i >> 16), byte(i >> 8), byte(i)}), 4000)
			pairs = append(pairs, pair{Tuple{Address: netip.AddrFrom4([4]byte{40, 0, 0, 1}), Port: 443, Protocol: tcp}, client})
		}
		fill(t, pairs)
	}
	nearly := limit*fullPercent/100 + 100
	others(0, nearly)
	s := a.sweep()
	if len(s.BlindSpots) != 1 || s.BlindSpots[0].Reason != v1alpha1.BlindPressure {
		t.Errorf("nearly full: %s", asText(s))
	}
	others(nearly, limit+500)
	if _, err := w.try(webTuple); err == nil {
		t.Fatal("a full table takes another connection")
	}
	s = a.sweep()
	if last := s.Gaps[len(s.Gaps)-1]; last.Reason != v1alpha1.GapPressure || !s.CoverageSince.Time.Equal(a.now) || before.CoverageSince.Time.Equal(a.now) {
		t.Errorf("full: %s", asText(s))
	}
	run(t, "conntrack -F 2>/dev/null")
	if s = a.sweep(); len(s.BlindSpots) != 0 || !s.CoverageSince.Time.Equal(a.now) {
		t.Errorf("after it: %s", asText(s))
	}
}

func TestNodeNeedsNoMoreThanItsTwoCapabilities(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		caps    uint32
		signals []v1alpha1.Signal
	}{
		"with both":               {1<<unix.CAP_NET_ADMIN | 1<<unix.CAP_NET_RAW, all},
		"with none there is none": {0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := w.watch(webTuple)
			done := make(chan Reading)
			go func() {
				runtime.LockOSThread() // never unlocked: the thread ends with its capabilities
				head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
				data := [2]unix.CapUserData{{Effective: c.caps, Permitted: c.caps}}
				if err := unix.Capset(&head, &data[0]); err != nil {
					t.Errorf("capset: %v", err)
				}
				done <- a.node.Read(a.set)
			}()
			if r := <-done; !slices.Equal(r.Signals, c.signals) {
				t.Errorf("signals %v:\n%s", r.Signals, a.log)
			}
		})
	}
}
