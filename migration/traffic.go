package migration

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
)

const (
	// clockTolerance is how far a source's clock may be ahead of ours.
	clockTolerance = 5 * time.Second
	// longestBelief bounds what a source may say of its own freshness.
	longestBelief = time.Hour
	// mostReasons bounds how many nodes an explanation names.
	mostReasons = 4
)

// TrafficInput is what the drain verdict of one path rests on.
type TrafficInput struct {
	Now time.Time
	// Nodes are the names of every node that could receive the address, whether it is ready or not.
	Nodes []string
	// BootIDs of nodes as the API server knows them, by node; a report from before a reboot does not count. Nil: not known.
	BootIDs map[string]string
	// Observations of all sources; those that do not speak of Nodes are ignored.
	Observations []*v1alpha1.Observation
	// Heartbeats of the agents. Nil, or none for a node: a report is as old as it says. HeartbeatsUnseen says why they could
	// not be read; "" where they could, or where agents keep none.
	Heartbeats       Heartbeats
	HeartbeatsUnseen string
	// Addresses, in canonical form, and Ports ("TCP/80") of the path.
	Addresses []string
	Ports     []string
	// Watched is the hash of the set that the agents should watch, see WatchedHash.
	Watched string
	// Settings: Attraction is what brings packets to this path. For a path whose removal withdraws its announcement (a
	// LoadBalancer Service of ours) the caller sets Announcer.
	Settings  Settings
	ProxyGoes bool
}

// Heartbeat is what the Lease of a node's agent says: nothing has changed since the report of that name, up to then.
type Heartbeat struct {
	// Report is the holderIdentity, and At the renewTime.
	Report string
	At     time.Time
}

// Heartbeats are what the Leases of the agents say, by node.
type Heartbeats map[string]Heartbeat

// TrueUntil is until when a report is known to have been true. A heartbeat of another report says nothing of this one,
// which may be the one before it in a cache that lags; and an agent vouches for its own report only.
func (h Heartbeats) TrueUntil(s *v1alpha1.ObservationStatus) time.Time {
	beat, ok := h[s.Node]
	if ok && s.Source == v1alpha1.SourceNode && s.Report != "" && beat.Report == s.Report && beat.At.After(s.ReportedAt.Time) {
		return beat.At
	}
	return s.ReportedAt.Time
}

// Traffic is the drain verdict: who uses a path, or why that cannot be told. Every node must have a report that is
// fresh, without a gap, of the set that is watched now, and with the signals that the protocols need: packet counters
// for all, and conntrack entries too for TCP and SCTP. One usable report is enough for a node; every usable one is
// believed where it has seen traffic. Quiet is the latest of the last new connection and the begin of coverage, of the
// node and of the row, on any node. Established is a sum; where it is unknown, the value is what was seen so far.
func Traffic(in TrafficInput) Use {
	t := newTally(in)
	nodes := slices.Clone(in.Nodes)
	slices.Sort(nodes)
	for _, node := range slices.Compact(nodes) {
		t.node(node)
	}
	if len(nodes) == 0 {
		t.unknown = append(t.unknown, "no node is listed that could receive the address")
	}
	return t.use()
}

// tally sums up what the usable reports say.
type tally struct {
	in          TrafficInput
	wanted      map[WatchedTuple]bool
	needs       []v1alpha1.Signal
	unknown     []string
	established int64
	quietSince  time.Time
	survives    bool
}

func newTally(in TrafficInput) *tally {
	attraction := in.Settings.Attraction
	t := &tally{
		in: in, wanted: map[WatchedTuple]bool{}, needs: []v1alpha1.Signal{v1alpha1.SignalCounters},
		survives: attraction == v1alpha1.AttractionStatic || attraction == v1alpha1.AttractionInterface,
	}
	for _, text := range in.Ports {
		protocol, port, ok := parsePort(text)
		if !ok {
			t.unknown = append(t.unknown, fmt.Sprintf("%s is no port", addresspool.Quote(text)))
			continue
		}
		if protocol != "UDP" && len(t.needs) == 1 {
			t.needs = append(t.needs, v1alpha1.SignalEntries)
		}
		t.want(protocol, port)
	}
	switch {
	case in.Watched == "":
		t.unknown = append(t.unknown, "it is not known what the agents should watch")
	case len(t.wanted) == 0:
		t.unknown = append(t.unknown, "no address and port is asked for")
	}
	return t
}

func (t *tally) want(protocol string, port int32) {
	for _, text := range t.in.Addresses {
		addr, _, err := addresspool.Canonical(text)
		if err != nil {
			t.unknown = append(t.unknown, err.Error())
			continue
		}
		t.wanted[WatchedTuple{addr, port, protocol}] = true
	}
}

// node adds what the reports about one node say.
func (t *tally) node(name string) {
	var faults []string
	usable, own := 0, 0
	for _, o := range t.in.Observations {
		if o == nil || !speaksOf(o, name) {
			continue
		}
		if o.Status.Source == v1alpha1.SourceNode {
			own++
		}
		if why := t.fault(o); why != "" {
			faults = append(faults, why)
			continue
		}
		usable++
		t.add(o)
	}
	switch {
	case own > 1:
		t.unknown = append(t.unknown, fmt.Sprintf("node %s: %d reports claim to be its agent's", name, own))
	case usable > 0:
	case len(faults) > 0:
		slices.Sort(faults)
		t.unknown = append(t.unknown, "node "+name+": "+strings.Join(slices.Compact(faults), "; "))
	default:
		t.unknown = append(t.unknown, "node "+name+": no report")
	}
}

// speaksOf tells whether a report counts for a node. An agent may write only the Observation of its node's name, so one
// of another name that claims the node is a stranger's.
func speaksOf(o *v1alpha1.Observation, node string) bool {
	if o.Status.Node != node {
		return false
	}
	return o.Status.Source == v1alpha1.SourceNode && o.Name == node || o.Status.Source == v1alpha1.SourceImported
}

// fault says why a report cannot be used; "" if it can.
func (t *tally) fault(o *v1alpha1.Observation) string {
	if why := t.staleness(&o.Status); why != "" {
		return why
	}
	s := &o.Status
	if len(s.BlindSpots) > 0 {
		return blindness(s.BlindSpots[0])
	}
	switch {
	case s.Watched != t.in.Watched:
		return "the agent watches another set of addresses than it should"
	case s.Overflow:
		return "there were more rows than fit into the report"
	case s.Source == v1alpha1.SourceNode && s.BootID == "":
		return "the report does not say since which boot"
	case s.Source == v1alpha1.SourceNode && t.in.BootIDs != nil && t.in.BootIDs[s.Node] != s.BootID:
		return "the node was rebooted since the report"
	case s.Source == v1alpha1.SourceNode && !knownDatapath(s.ProxyMode):
		return fmt.Sprintf("datapath %q cannot be observed in conntrack", s.ProxyMode)
	}
	for _, signal := range t.needs {
		if !slices.Contains(s.Signals, signal) {
			return "signal " + string(signal) + " is missing"
		}
	}
	return t.rowFault(s.Traffic)
}

func knownDatapath(mode v1alpha1.ProxyMode) bool {
	return slices.Contains([]v1alpha1.ProxyMode{v1alpha1.ProxyNFTables, v1alpha1.ProxyIPTables, v1alpha1.ProxyIPVS}, mode)
}

func (t *tally) staleness(s *v1alpha1.ObservationStatus) string {
	now, reported, coverage := t.in.Now, t.in.Heartbeats.TrueUntil(s), s.CoverageSince.Time
	belief := min(time.Duration(s.StaleAfterSeconds)*time.Second, longestBelief)
	switch {
	case s.ReportedAt.IsZero() || coverage.IsZero():
		return "the report has no time or no begin of coverage"
	case reported.After(now.Add(clockTolerance)):
		return "the report is dated " + stampText(reported) + ", which is in the future: the clocks disagree"
	case coverage.After(reported.Add(clockTolerance)):
		return "coverage begins after the report: the clocks disagree"
	case belief <= 0:
		return "the report does not say how long it may be believed"
	case now.Sub(reported) > belief:
		return "the last report is of " + stampText(reported) + t.unheard(s)
	}
	return ""
}

// unheard says, of a report that a heartbeat could keep fresh, why none was heard.
func (t *tally) unheard(s *v1alpha1.ObservationStatus) string {
	if t.in.HeartbeatsUnseen == "" || s.Source != v1alpha1.SourceNode || s.Report == "" {
		return ""
	}
	return ", and heartbeats cannot be read: " + t.in.HeartbeatsUnseen
}

func blindness(b v1alpha1.BlindSpot) string {
	if b.Message == "" {
		return "the agent may not see everything (" + string(b.Reason) + ")"
	}
	return "the agent may not see everything (" + string(b.Reason) + ": " + addresspool.Quote(b.Message) + ")"
}

func stampText(at time.Time) string { return at.UTC().Format(time.RFC3339) }

func (t *tally) rowFault(rows []v1alpha1.TupleTraffic) string {
	for _, row := range rows {
		switch {
		case !t.asked(row):
		case row.Established < 0:
			return fmt.Sprintf("%d connections cannot be", row.Established)
		case row.Since != nil && row.Since.After(t.in.Now.Add(clockTolerance)):
			return "coverage of a row begins at " + stampText(row.Since.Time) + ", which is in the future: the clocks disagree"
		case row.LastNew != nil && row.LastNew.After(t.in.Now.Add(clockTolerance)):
			return "a connection is dated " + stampText(row.LastNew.Time) + ", which is in the future: the clocks disagree"
		}
	}
	return ""
}

// asked tells whether the tuple of a row is one that was asked for, in whatever spelling.
func (t *tally) asked(row v1alpha1.TupleTraffic) bool {
	addr, _, err := addresspool.Canonical(row.Address)
	if err != nil {
		return false
	}
	return t.wanted[WatchedTuple{addr, row.Port, strings.ToUpper(row.Protocol)}]
}

// add believes a usable report. Rows of one tuple add up, which errs towards traffic.
func (t *tally) add(o *v1alpha1.Observation) {
	t.later(o.Status.CoverageSince.Time)
	mode := o.Status.ProxyMode
	t.survives = t.survives && (mode == v1alpha1.ProxyNFTables || mode == v1alpha1.ProxyIPTables)
	for _, row := range o.Status.Traffic {
		if !t.asked(row) {
			continue
		}
		t.established += min(row.Established, 1<<40)
		// A tuple that is watched for a shorter time than the rest of its node was not looked at before.
		if row.Since != nil {
			t.later(row.Since.Time)
		}
		if row.LastNew != nil {
			t.later(row.LastNew.Time)
		}
	}
}

func (t *tally) later(at time.Time) {
	if at.After(t.quietSince) {
		t.quietSince = at
	}
}

func (t *tally) use() Use {
	out := Use{
		QuietSince: See(t.quietSince), Established: See(t.established),
		Survives: t.survives && len(t.unknown) == 0, ProxyGoes: t.in.ProxyGoes,
	}
	if why := t.why(); why != "" {
		out.QuietSince = Unseen[time.Time](why)
		out.Established = Seen[int64]{Value: t.established, Why: why}
	}
	return out
}

func (t *tally) why() string {
	reasons := slices.Compact(slices.Clone(t.unknown))
	if more := len(reasons) - mostReasons; more > 0 {
		return strings.Join(reasons[:mostReasons], "; ") + fmt.Sprintf("; and %d more", more)
	}
	return strings.Join(reasons, "; ")
}
