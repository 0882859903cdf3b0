package migration

import (
	"net/netip"
	"strconv"
	"strings"
	"time"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
)

// Builders of facts for tables. scene is a walk at its end: approved, staged, proven, quiet, goal Forget; a journal in
// short notation and record sets by step move it to where a test wants it.

const sceneRecord = "shop-web-1"

func sceneName(name, zone string) dnsctl.Name {
	oldAddr, newAddr := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("203.0.113.1")
	return dnsctl.Name{
		Name: name, Zone: zone, Snapshot: dnsctl.RecordSet{A: dnsctl.RRset{Addresses: []netip.Addr{oldAddr}, TTL: 3600}},
		Old: []netip.Addr{oldAddr}, New: []netip.Addr{newAddr}, LowTTL: 30,
	}
}

func scenePlan(strategy v1alpha1.Strategy) *Plan {
	return &Plan{EntryPoint: "shop-web", Strategy: strategy, Settings: Settings{
		LowTTL: 30, Percents: []int32{25, 50, 100}, StepSoak: 300, Soak: 600, DrainWindow: 3600, MaxLifetime: 7200, Rounds: 3,
		ProbeInterval: 10, Recheck: 3600, OnFailure: v1alpha1.OnFailureShiftBack,
	}}
}

// scene has one name, whose two servers answer step k with the mark of its youngest intent.
func scene(journal string, k dnsctl.Step, edits ...func(*Facts)) Facts {
	plan := scenePlan(v1alpha1.StrategyLoadBalancer)
	stamps := sceneStamps(journal)
	now := time.Unix(1_800_000_000, 0).UTC()
	if n := len(stamps); n > 0 {
		now = stamps[n-1].At.Add(3 * time.Hour)
	}
	f := Facts{
		Now: now,
		Intent: Intent{
			Goal: v1alpha1.GoalForget, Direction: v1alpha1.DirectionForward, Attempt: 1, ApprovedPlan: HashPlan(plan),
		},
		Guarded: See(true), Live: plan, Slots: true, Claims: Claims{Complete: true, Any: true}, Target: Target{Exact: true, Any: true},
		Record: Record{
			Name: sceneRecord, Exists: true, Stamps: stamps, Plans: []AttemptPlan{{Attempt: 1, Hash: HashPlan(plan), Plan: plan}},
		},
		Names:  []NameFacts{sceneAnswers(sceneName("www.example.org", "example"), k, stamps)},
		Fields: []Field{{Service: "shop/web", Present: true}},
		New:    Path{Healthy: See(true), Samples: 100, Rounds: 3}, Old: Path{Healthy: See(true), Rounds: 3},
	}
	f.OldUse = Use{QuietSince: See(now.Add(-2 * time.Hour)), Established: See(int64(0))}
	f.NewUse = f.OldUse
	for _, edit := range edits {
		edit(&f)
	}
	return f
}

// sceneStamps reads "R I0 S0 A": Recorded, Intent and Seen with their step, Abort, Diverged, ReLeased, Restored (B),
// Returned (G), Undone, Forgotten; an hour apart, of attempt 1, or of the attempt behind a slash.
func sceneStamps(journal string) []Stamp {
	kinds := map[byte]v1alpha1.StampKind{
		'R': v1alpha1.StampRecorded, 'I': v1alpha1.StampIntent, 'S': v1alpha1.StampSeen, 'A': v1alpha1.StampAbort,
		'D': v1alpha1.StampDiverged, 'L': v1alpha1.StampReleased, 'B': v1alpha1.StampRestored, 'G': v1alpha1.StampReturned,
		'U': v1alpha1.StampUndone, 'F': v1alpha1.StampForgotten,
	}
	var stamps []Stamp
	for i, word := range strings.Fields(journal) {
		word, attempt, _ := strings.Cut(word, "/")
		s := Stamp{Kind: kinds[word[0]], Attempt: 1, At: time.Unix(1_800_000_000, 0).UTC().Add(time.Duration(i) * time.Hour)}
		if n, err := strconv.Atoi(word[1:]); err == nil {
			s.Step = dnsctl.Step(n)
		}
		if n, err := strconv.ParseInt(attempt, 10, 64); err == nil {
			s.Attempt = n
		}
		stamps = append(stamps, s)
	}
	return stamps
}

func sceneAnswers(n dnsctl.Name, k dnsctl.Step, stamps []Stamp) NameFacts {
	a := dnsctl.Answer{Records: n.Allowed(k, []int32{25, 50, 100})[0]}
	for i, s := range stamps {
		if s.Kind == v1alpha1.StampIntent && s.Step == k && k > dnsctl.StepSnapshot {
			a.Mark = dnsctl.Mark{Owner: sceneRecord, Sequence: i}
		}
	}
	return NameFacts{Name: n, Servers: []Seen[dnsctl.Answer]{See(a), See(a)}, Rotates: See(true)}
}

func goal(g v1alpha1.Goal) func(*Facts) { return func(f *Facts) { f.Intent.Goal = g } }

func goBack(f *Facts) { f.Intent.Direction = v1alpha1.DirectionBack }

func attempt(n int64) func(*Facts) { return func(f *Facts) { f.Intent.Attempt = n } }

// nextAttempt is recorded too, with the same plan.
func nextAttempt(f *Facts) {
	f.Intent.Attempt = 2
	p := f.Record.Plans[0]
	p.Attempt = 2
	f.Record.Plans = append(f.Record.Plans, p)
}

func unrecorded(f *Facts) { f.Record, f.Claims, f.Target = Record{}, Claims{}, Target{} }

func taken(f *Facts) { f.Fields[0] = Field{Service: "shop/web", Mark: 1} }

func waive(g Gate) func(*Facts) {
	return func(f *Facts) { f.Intent.Waived = map[Gate]string{g: "signed by ops"} }
}

func server(i int, edit func(*dnsctl.Answer)) func(*Facts) {
	return func(f *Facts) { edit(&f.Names[0].Servers[i].Value) }
}

func noNamesMove(f *Facts) { f.Names = nil }

// strategy changes the plan as if it had been so from the start.
func strategy(s v1alpha1.Strategy) func(*Facts) {
	return func(f *Facts) {
		p := scenePlan(s)
		f.Live, f.Intent.ApprovedPlan = p, HashPlan(p)
		f.Record.Plans = []AttemptPlan{{Attempt: 1, Hash: HashPlan(p), Plan: p}}
	}
}

// afterLast is a time after the last stamp.
func afterLast(d time.Duration) func(*Facts) {
	return func(f *Facts) {
		f.Now = f.Record.Stamps[len(f.Record.Stamps)-1].At.Add(d)
		f.OldUse.QuietSince = See(f.Now.Add(-2 * time.Hour))
	}
}
