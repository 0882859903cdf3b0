package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hazard is one way to see a zero where there is none.
type hazard struct {
	what string
	// tests that end in unknown or active: a function, or a function and the name of a case in it.
	tests []string
	// open says why there is none yet.
	open string
}

// hazards are the ways to see a false zero, each with the tests that hold it to unknown or active.
var hazards = []hazard{
	{what: "the agent is missing or late on a node, also one that joined or is not ready", tests: []string{
		"TestAFalseZeroIsUnknown/a node has no agent", "TestAFalseZeroIsUnknown/a node joined during the window", "TestAFalseZeroIsUnknown/an agent went silent",
		"TestAReportIsAsFreshAsTheHeartbeatThatNamesIt/a heartbeat that stopped",
	}},
	{what: "the node was rebooted, or the agent killed", tests: []string{
		"TestAFalseZeroIsUnknown/the node was rebooted", "TestNodeReplacesWhatADeadAgentLeftBehindAndBeginsAnew",
	}},
	{what: "conntrack was flushed, or its limit lowered", tests: []string{
		"TestNodeTakesAFlushOfConntrackForAGapOfItsTuple", "TestNodeTakesDropsOfAFullTableForAGap",
	}},
	{what: "the ruleset was flushed, or the table made again", tests: []string{"TestNodeNoticesWhenSomebodyTouchesItsTable"}},
	{what: "the socket of events overflowed", tests: []string{"TestNodeTakesAnOverflowOfEventsForAGap"}},
	{what: "a listing was interrupted or cut short, or a set overflowed", tests: []string{
		"TestAListingThatMayBeShortIsAnError", "TestAFalseZeroIsUnknown/a set overflowed", "TestAnAnswerIsTakenOnlyForTheEntryThatWasAskedFor",
	}},
	{what: "replies go another way, or packets come in at a node without an agent", tests: []string{
		"TestWhatAReadingSaysOfATuple/packets of a connection that conntrack does not know are use", "TestNodeCountsWhatConntrackDoesNotTrack",
	}},
	{what: "a long connection is idle, or idle for longer than conntrack remembers", tests: []string{
		"TestTrafficThatWasSeenIsActive/an idle long connection", "TestWhatAReadingSaysOfATuple/an idle connection that conntrack forgot is a gap of its tuple",
	}},
	{what: "UDP has no state, and its entries expire between two sweeps", tests: []string{
		"TestWhatAReadingSaysOfATuple/a udp packet without an entry is use", "TestAFalseZeroIsUnknown/UDP without packet counters",
	}},
	{what: "attempts that nobody answers", tests: []string{
		"TestNodeShowsAttemptsThatNobodyAnswersAndDoesNotCountThem", "TestTrafficThatWasSeenIsActive/an attempt that nobody answered",
	}},
	{what: "refused attempts never reach conntrack", tests: []string{
		"TestWhatAReadingSaysOfATuple/a refused attempt is counted before conntrack, and shown", "TestWhatAReadingSaysOfATuple/without events an attempt may have been answered",
	}},
	{what: "probes and monitors of our own are use until somebody excuses them", tests: []string{"TestTrafficThatWasSeenIsActive/a connection that was short"}},
	{what: "scanners are use until somebody excuses them", tests: []string{"TestTrafficThatWasSeenIsActive/a connection that was short"}},
	{what: "flowtables and programs on devices take packets past the counters", tests: []string{
		"TestNodeSaysWhatMayTakePacketsPastIt", "TestAFlowtableIsNamedByItsTableAndName", "TestOnlyAFilterThatIsAProgramMayTakePackets", "TestAFalseZeroIsUnknown/a flowtable takes packets past the counters",
		"TestAFalseZeroIsUnknown/a program on the device takes packets",
	}},
	{what: "an eBPF datapath bypasses conntrack", tests: []string{"TestAFalseZeroIsUnknown/an eBPF datapath bypasses conntrack", "TestNodeFindsTheProxyMode"}},
	{what: "the twin address of the other family is used", tests: []string{
		"TestTrafficThatWasSeenIsActive/the twin address of the other family", "TestTrafficThatWasSeenIsActive/an IPv4-mapped spelling",
	}},
	{what: "several Services and ports behind one address", tests: []string{
		"TestEveryPortOfEverybodyWhoSharesAnAddressIsWatched", "TestAFalseZeroIsUnknown/the agent watches an older set",
	}},
	{what: "clocks disagree", tests: []string{
		"TestAFalseZeroIsUnknown/a node's clock is ahead", "TestAReportIsAsFreshAsTheHeartbeatThatNamesIt/a heartbeat from the future",
	}},
	{what: "clients that come once a day", tests: []string{"TestAPathIsQuietOnlyWhereEveryNodeSaysSo"}},
	{what: "caches beyond the TTL, and addresses written down", tests: []string{"TestTrafficThatWasSeenIsActive/a connection that was short"}},
	{what: "kube-proxy of one node still has the rules", tests: []string{"TestTrafficThatWasSeenIsActive/a new connection to a tuple that joined"}},
	{what: "clients in the cluster and on the node", tests: []string{"TestNodeCountsWhatStartsOnTheNode"}},
	{what: "entries vanish because somebody deleted them", tests: []string{
		"TestWhatAReadingSaysOfATuple/an entry that was flushed, with an event, is a gap of its tuple", "TestWhatAReadingSaysOfATuple/a udp packet without an entry is use",
	}},
	{what: "packets get lost before the node", open: "no signal of a node can tell; it takes the use of the new path beside the old one's silence"},
	{what: "conntrack zones", tests: []string{
		"TestAZoneKeepsTheTableListedAsLongAsAConnectionStandsInIt", "TestWhatAReadingSaysOfATuple/an entry of another conntrack zone is the same connection",
	}},
}

func TestEveryHazardOfAFalseZeroHasATest(t *testing.T) {
	t.Parallel()
	if len(hazards) != 25 {
		t.Errorf("%d hazards", len(hazards))
	}
	var source strings.Builder
	for _, pattern := range []string{"*_test.go", "../migration/traffic_test.go"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v, error %v", pattern, names, err)
		}
		for _, name := range names {
			if name == "hazards_test.go" {
				continue // it names them all
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			source.Write(text)
		}
	}
	for i, h := range hazards {
		if (len(h.tests) == 0) != (h.open != "") {
			t.Errorf("hazard %d (%s) has %d tests and is open because %q", i+1, h.what, len(h.tests), h.open)
		}
		for _, name := range h.tests {
			function, row, _ := strings.Cut(name, "/")
			body, ok := bodyOf(source.String(), function)
			if !ok || !strings.Contains(body, row) {
				t.Errorf("hazard %d (%s): there is no test %q", i+1, h.what, name)
			}
		}
	}
}

// bodyOf is the text of a test function.
func bodyOf(source, function string) (string, bool) {
	_, rest, ok := strings.Cut(source, "func "+function+"(t *testing.T) {")
	body, _, end := strings.Cut(rest, "\n}\n")
	return body, ok && end
}
