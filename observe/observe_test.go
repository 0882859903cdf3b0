package observe

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
	"offramp.dev/migration"
	"offramp.dev/probe"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func TestIntent(t *testing.T) {
	t.Parallel()
	waiver := func(gate, who string, until time.Duration) v1alpha1.Waiver {
		return v1alpha1.Waiver{Gate: gate, Requester: who, Reason: "because", Expires: metav1.NewTime(noon.Add(until))}
	}
	cases := map[string]struct {
		goal, auto, want v1alpha1.Goal
		waivers          []v1alpha1.Waiver
		waived           int
	}{
		"the human's goal counts":                        {goal: v1alpha1.GoalStage, want: v1alpha1.GoalStage},
		"autoAdvance raises a goal":                      {goal: v1alpha1.GoalStage, auto: v1alpha1.GoalCutOver, want: v1alpha1.GoalCutOver},
		"autoAdvance never leaves Report":                {goal: v1alpha1.GoalReport, auto: v1alpha1.GoalCutOver, want: v1alpha1.GoalReport},
		"autoAdvance lowers nothing":                     {goal: v1alpha1.GoalForget, auto: v1alpha1.GoalCutOver, want: v1alpha1.GoalForget},
		"a waiver counts until it expires":               {goal: v1alpha1.GoalStage, want: v1alpha1.GoalStage, waivers: []v1alpha1.Waiver{waiver("Drained", "me", time.Hour)}, waived: 1},
		"an expired waiver counts for nothing":           {goal: v1alpha1.GoalStage, want: v1alpha1.GoalStage, waivers: []v1alpha1.Waiver{waiver("Drained", "me", -time.Hour)}},
		"a waiver that nobody signed counts for nothing": {goal: v1alpha1.GoalStage, want: v1alpha1.GoalStage, waivers: []v1alpha1.Waiver{waiver("Drained", "", time.Hour)}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &World{
				Policy:     &v1alpha1.MigrationPolicy{Spec: v1alpha1.MigrationPolicySpec{AutoAdvance: c.auto}},
				EntryPoint: &v1alpha1.EntryPoint{Spec: v1alpha1.EntryPointSpec{Goal: c.goal, Waivers: c.waivers}},
			}
			if got := intent(w, noon); got.Goal != c.want || len(got.Waived) != c.waived {
				t.Errorf("goal %s, %d waived", got.Goal, len(got.Waived))
			}
		})
	}
}

func TestFreeze(t *testing.T) {
	t.Parallel()
	p := &v1alpha1.MigrationPolicy{Spec: v1alpha1.MigrationPolicySpec{FreezeWindows: []v1alpha1.FreezeWindow{
		{Start: metav1.NewTime(noon), End: metav1.NewTime(noon.Add(time.Hour)), Reason: "sale"},
	}}}
	for at, want := range map[time.Duration]bool{-time.Second: false, 0: true, 59 * time.Minute: true, time.Hour: false} {
		if got := freeze(p, noon.Add(at)); (got != "") != want || want && !strings.Contains(got, "sale") {
			t.Errorf("at %s: %q", at, got)
		}
	}
	if freeze(nil, noon) != "" {
		t.Error("a policy that is not there freezes nothing")
	}
}

func TestRecordNames(t *testing.T) {
	t.Parallel()
	if n, ok := RecordNumber("shop-web", RecordName("shop-web", 12)); !ok || n != 12 {
		t.Errorf("got %d %t", n, ok)
	}
	for _, name := range []string{"shop-web", "shop-web-", "shop-web-x", "shop-web-0", "shop-web--1", "other-1"} {
		if n, ok := RecordNumber("shop-web", name); ok {
			t.Errorf("%s is read as number %d", name, n)
		}
	}
}

func TestARecordThatDoesNotMatchItsHashIsNotTrusted(t *testing.T) {
	t.Parallel()
	doc, err := migration.EncodeDocument(migration.Snapshot{TakenAt: noon})
	if err != nil {
		t.Fatal(err)
	}
	rec := &v1alpha1.MigrationRecord{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Spec: v1alpha1.MigrationRecordSpec{Snapshot: &doc}}
	if _, err := DecodeRecord(rec); err != nil {
		t.Errorf("an honest record: %v", err)
	}
	rec.Spec.Snapshot.JSON += " "
	if _, err := DecodeRecord(rec); err == nil || !strings.Contains(err.Error(), "MigrationRecord r spec.snapshot") {
		t.Errorf("a forged record: %v", err)
	}
}

// fakeDNS answers from a map; a name that is not in it cannot be asked.
type fakeDNS map[string]dnsctl.Answer

func (f fakeDNS) Query(_ context.Context, _ dnsctl.Zone, _, name string) (dnsctl.Answer, error) {
	a, ok := f[name]
	if !ok {
		return a, errors.New("timeout")
	}
	return a, nil
}

func (fakeDNS) Update(context.Context, dnsctl.Zone, []dnsctl.Change) error {
	return errors.New("observe never writes")
}

func TestPlanNames(t *testing.T) {
	t.Parallel()
	a := func(ip string) dnsctl.Answer {
		return dnsctl.Answer{Records: dnsctl.RecordSet{A: dnsctl.RRset{Addresses: []netip.Addr{netip.MustParseAddr(ip)}, TTL: 60}}}
	}
	dns := fakeDNS{"www.example.com": a("192.0.2.50"), "other.example.com": a("198.51.100.1"), "www.tenant.example.com": a("192.0.2.50")}
	cases := map[string]struct {
		hostnames string
		want      []string
		problem   bool
	}{
		"a granted name that answers with an old address moves": {hostnames: "www.example.com", want: []string{"www.example.com"}},
		"a name that points elsewhere does not":                 {hostnames: "other.example.com"},
		"a name that another namespace was granted does not":    {hostnames: "www.tenant.example.com"},
		"a name of no zone does not":                            {hostnames: "www.example.org"},
		"a name that merely ends alike does not":                {hostnames: "www.notexample.com"},
		"a name that cannot be asked is a problem, not absent":  {hostnames: "www.example.com,silent.example.com", problem: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := NewLooker(Ports{DNS: dns, Now: func() time.Time { return noon }})
			zone := &v1alpha1.DNSZone{ObjectMeta: metav1.ObjectMeta{Name: "z"}, Spec: v1alpha1.DNSZoneSpec{Zone: "example.com", Domains: []v1alpha1.DomainGrant{
				{Namespace: "shop", Suffixes: []string{"www.example.com", "other.example.com", "silent.example.com"}},
				{Namespace: "tenant", Suffixes: []string{"www.tenant.example.com"}},
			}}}
			w := &World{
				Policy: &v1alpha1.MigrationPolicy{Spec: v1alpha1.MigrationPolicySpec{Zones: []string{"z"}}},
				Zones:  map[string]*v1alpha1.DNSZone{"z": zone},
			}
			svc := &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: map[string]string{v1alpha1.AnnotationHostnames: c.hostnames}},
				Spec:       corev1.ServiceSpec{ExternalIPs: []string{"192.0.2.50"}},
			}
			names, _, problem := l.planNames(context.Background(), w, []*corev1.Service{svc}, nil)
			var got []string
			for _, n := range names {
				got = append(got, n.Name)
			}
			if !slices.Equal(got, c.want) || (problem != "") != c.problem {
				t.Errorf("names %v, problem %q", got, problem)
			}
		})
	}
}

func TestRoundsOfProbes(t *testing.T) {
	t.Parallel()
	round := func(outcomes ...probe.Outcome) []probe.Result {
		var out []probe.Result
		for _, o := range outcomes {
			out = append(out, probe.Result{Outcome: o, Detail: "d"})
		}
		return out
	}
	cases := map[string]struct {
		rounds        [][]probe.Result
		known, value  bool
		good, samples int
	}{
		"good rounds add up":                                       {rounds: [][]probe.Result{round(probe.Good), round(probe.Good)}, known: true, value: true, good: 2, samples: 2},
		"one failed check fails the round":                         {rounds: [][]probe.Result{round(probe.Good), round(probe.Good, probe.Failed)}, known: true, samples: 2},
		"nothing conclusive is unknown":                            {rounds: [][]probe.Result{round(probe.Good), round(probe.Inconclusive)}, samples: 1},
		"no check at all is unknown":                               {rounds: [][]probe.Result{round()}},
		"an inconclusive check beside a good one does not fail it": {rounds: [][]probe.Result{round(probe.Good, probe.Inconclusive)}, known: true, value: true, good: 1, samples: 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var y tally
			for _, r := range c.rounds {
				y.results = r
				y.count()
			}
			p := y.path()
			if p.Healthy.Known != c.known || p.Healthy.Value != c.value || p.Rounds != c.good || p.Samples != c.samples {
				t.Errorf("got %+v", p)
			}
		})
	}
}

func TestPeersGiveWayInOneOrder(t *testing.T) {
	t.Parallel()
	one := []netip.Addr{netip.MustParseAddr("203.0.113.1")}
	peer := func(name, record string) *v1alpha1.EntryPoint {
		return &v1alpha1.EntryPoint{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1alpha1.EntryPointStatus{Record: record}}
	}
	for name, c := range map[string]struct {
		mine []netip.Addr
		peer *v1alpha1.EntryPoint
		want int
	}{
		"ourselves are no peer":                                           {nil, peer("m", "m-1"), 0},
		"a peer that planned it first keeps it":                           {nil, peer("z", ""), 1},
		"of two that planned it a peer that recorded it keeps it":         {one, peer("z", "z-1"), 1},
		"of two that planned it a peer with an earlier name keeps it":     {one, peer("a", ""), 1},
		"of two that planned it a peer with a later name gives way to us": {one, peer("z", ""), 0},
	} {
		if got := intended("m", c.mine, c.peer, one); len(got) != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestWhatThisProcessPlannedIsNewerThanAnyStatus(t *testing.T) {
	t.Parallel()
	l := NewLooker(Ports{})
	ep := &v1alpha1.EntryPoint{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Status: v1alpha1.EntryPointStatus{NewAddresses: []string{"203.0.113.1"}}}
	if got := l.plannedBy(ep); len(got) != 1 || got[0].String() != "203.0.113.1" {
		t.Errorf("from the status: %v", got)
	}
	l.planned["m"] = []netip.Addr{netip.MustParseAddr("203.0.113.2")}
	if got := l.plannedBy(ep); len(got) != 1 || got[0].String() != "203.0.113.2" {
		t.Errorf("from memory: %v", got)
	}
	l.planned["m"] = []netip.Addr{}
	if got := l.plannedBy(ep); len(got) != 0 {
		t.Errorf("without a plan: %v", got)
	}
	l.Forget("m")
	if got := l.plannedBy(ep); len(got) != 1 {
		t.Errorf("forgotten: %v", got)
	}
}

func TestTheMarkIsProofOfOneRecordOnly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"r-1/2": 2, "r-2/2": 0, "r-1/x": 0, "r-1": 0, "": 0, "/2": 0} {
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationReleased: text}}}
		if got := releasedMark(svc, "r-1"); got != want {
			t.Errorf("%q: %d", text, got)
		}
	}
}
