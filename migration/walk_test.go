package migration

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestWalk walks the table through a hostile world many times. OFFRAMP_WALK_RUNS says how many times, OFFRAMP_WALK_SEED
// prints one run tick by tick.
func TestWalk(t *testing.T) {
	t.Parallel()
	if seed, err := strconv.ParseUint(os.Getenv("OFFRAMP_WALK_SEED"), 10, 64); err == nil {
		traceRun(t, seed)
		return
	}
	found := newTeam(&mutation{}).walk(0, uint64(runsFromEnv(20_000)), false)
	for name, seeds := range found.faults {
		t.Errorf("%s in %d runs, first seeds %v", name, len(seeds), seeds[:min(6, len(seeds))])
	}
	t.Log(found.summary())
}

func runsFromEnv(otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv("OFFRAMP_WALK_RUNS")); err == nil && n > 0 {
		return n
	}
	return otherwise
}

func traceRun(t *testing.T, seed uint64) {
	t.Helper()
	team := newTeam(&mutation{})
	bad, row := newWorld(seed, team.m, team.rules, team.hold, team.shift).run(func(w *world, o outcome) {
		z := w.zoneNow()
		t.Logf("%3d %s %s %s %v | zone %c ttl %d mark %d at %v field %v new %v goal %d back %v attempt %d bad %v",
			w.t, o.gate, o.verdict, o.reason, o.action, z.kind, z.ttl, z.answer.Mark.Sequence, w.at, w.field, w.newPath(),
			w.goal, w.back, w.attempt, faultsOf(w.bad))
	})
	t.Log(faultsOf(bad), row)
}

func faultsOf(bad int) []string {
	var names []string
	for i, name := range faultNames() {
		if bad&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// team runs many worlds at once.
type team struct {
	m           *mutation
	rules       *rules
	hold, shift *fixture
}

func newTeam(m *mutation) *team {
	r := defaultRules()
	// The plans of the world differ by one word only, which stands for their hash.
	r.hash = func(p *Plan) string { return p.Why }
	if m.rules != nil {
		m.rules(r)
	}
	x := newFixture()
	return &team{m: m, rules: r, hold: x, shift: x.shiftBack()}
}

// findings of many runs.
type findings struct {
	sync.Mutex

	faults map[string][]uint64
	ends   map[string]int
}

func (f *findings) add(seed uint64, bad int, row *outcome) {
	f.Lock()
	defer f.Unlock()
	for _, name := range faultsOf(bad) {
		f.faults[name] = append(f.faults[name], seed)
		slices.Sort(f.faults[name])
	}
	f.ends[string(row.gate)+"("+row.reason+")"]++
}

func (f *findings) summary() string {
	var ends []string
	for end, n := range f.ends {
		ends = append(ends, strconv.Itoa(n)+" "+end)
	}
	slices.SortFunc(ends, func(a, b string) int { return number(b) - number(a) })
	return "ends: " + strings.Join(ends, ", ")
}

func number(s string) int {
	n, _ := strconv.Atoi(s[:strings.IndexByte(s, ' ')])
	return n
}

// walk runs the seeds from first on, n of them, or until the first fault.
func (m *team) walk(first, n uint64, untilFault bool) *findings {
	found := &findings{faults: map[string][]uint64{}, ends: map[string]int{}}
	var next atomic.Uint64
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < n && !stop.Load(); i = next.Add(1) - 1 {
				bad, row := newWorld(first+i, m.m, m.rules, m.hold, m.shift).run(nil)
				found.add(first+i, bad, &row)
				stop.CompareAndSwap(false, untilFault && bad != 0)
			}
		})
	}
	wg.Wait()
	return found
}
