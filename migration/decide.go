package migration

import (
	"cmp"
	"slices"
	"time"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
)

// rules are what Decide goes by: the table, the rules that stand before it, and the small rules that faces share. They
// are values, so that a test can take exactly one of them away and show that the random walk notices.
type rules struct {
	// table in its order; forward walks down, back walks up the rows of back.
	table []gate
	back  []gate
	// namesBack are the rows that an aborted attempt walks.
	namesBack []gate
	// first stand before the table, in order; the first that speaks decides.
	first []func(*walk) (outcome, bool)

	attempt  func(Facts) int64
	read     func([]Stamp, int64) journal
	hash     func(*Plan) string
	triple   func(*walk, dnsctl.Step) outcome
	answers  func(*walk, *NameFacts, dnsctl.Step, *dnsctl.Answer) bool
	inside   func(*walk, *NameFacts, dnsctl.Step, *dnsctl.Answer) bool
	mark     func(*walk, dnsctl.Step) dnsctl.Mark
	reverted func(*walk) bool
	kept     func(*walk, *NameFacts, *dnsctl.Answer, *dnsctl.RecordSet) outcome
	since    func(*walk, time.Time) time.Time
	never    func(*walk) bool
	backTTL  func(*walk) time.Duration
	ours     func(*walk, *Field) bool
	gone     func(*walk) bool
	after    func(*walk) bool
	safe     func(*walk, outcome) outcome
}

func defaultRules() *rules {
	table := gates()
	return &rules{
		table: table, back: upwards(table), namesBack: pick(upwards(table), GateSettled, GateShifted),
		first: []func(*walk) (outcome, bool){
			ended, diverged, returned, putBack, failed, aborted, goingBack, repair,
		},
		attempt: Facts.Attempt, read: readJournal, hash: HashPlan,
		triple: triple, answers: answers, inside: inside, mark: mark, reverted: reverted, kept: kept,
		since: since, never: neverIntended, backTTL: (*walk).oldTTL, ours: ours, gone: gone, after: after, safe: safe,
	}
}

func upwards(table []gate) []gate {
	up := slices.Clone(table)
	slices.Reverse(up)
	return up
}

func pick(table []gate, names ...Gate) []gate {
	var picked []gate
	for i := range table {
		if slices.Contains(names, table[i].Name) {
			picked = append(picked, table[i])
		}
	}
	return picked
}

// walk is one decision under way: the facts and what follows from them at once.
type walk struct {
	*Facts

	rules   *rules
	journal journal
	attempt int64
	// frozen is the youngest recorded plan; plan that, or before it the live one; nil if there is neither.
	frozen *AttemptPlan
	plan   *Plan
	// settings of plan; zero without one.
	settings Settings
	// last is the step whose share is 100 percent.
	last dnsctl.Step
}

func (r *rules) walk(f *Facts) *walk {
	w := &walk{Facts: f, rules: r, attempt: r.attempt(*f), plan: f.Live}
	w.journal = r.read(f.Record.Stamps, w.attempt)
	if n := len(f.Record.Plans); n > 0 && f.Record.Plans[n-1].Plan != nil {
		w.frozen = &f.Record.Plans[n-1]
		w.plan = w.frozen.Plan
	}
	if w.plan != nil {
		w.settings = w.plan.Settings
		w.last = dnsctl.Step(len(w.settings.Percents))
	}
	return w
}

// outcome is what a face, or a rule before the table, says. The zero value is Met.
type outcome struct {
	gate            Gate
	verdict         Verdict
	reason, message string
	action          Action
	again           time.Time
	// step of a share, for the row Shifted; 0 elsewhere.
	step dnsctl.Step
}

// passes tells whether the walk goes on to the next row.
func (o *outcome) passes() bool {
	return o.verdict == "" || o.verdict == Met || o.verdict == Moot || o.verdict == NotApplicable
}

func (o outcome) at(g Gate) outcome {
	o.gate = g
	return o
}

func act(a Action, reason, message string) outcome {
	return outcome{verdict: Unmet, action: a, reason: reason, message: message}
}

func held(reason, message string) outcome {
	return outcome{verdict: Held, reason: reason, message: message}
}

func waiting(reason, message string) outcome {
	return outcome{verdict: Waiting, reason: reason, message: message}
}

// until waits for time alone.
func until(t time.Time, reason, message string) outcome {
	return outcome{verdict: Waiting, reason: reason, message: message, again: t}
}

func unknown(reason, message string) outcome {
	return outcome{verdict: Unknown, reason: reason, message: message}
}

func moot(message string) outcome {
	return outcome{verdict: Moot, reason: ReasonOvertaken, message: message}
}

func notApplicable(reason, message string) outcome {
	return outcome{verdict: NotApplicable, reason: reason, message: message}
}

// stamp appends to the journal, on the number of lines that this decision saw.
func (w *walk) stamp(kind v1alpha1.StampKind, step dnsctl.Step, reason, message string) outcome {
	return act(WriteStamp{Kind: kind, Step: step, Attempt: w.attempt, Sequence: len(w.Record.Stamps)}, reason, message)
}

// decide answers where the walk stands and what is done: first the rules before the table, then the table downwards.
func (r *rules) decide(w *walk) outcome {
	for _, rule := range r.first {
		if o, ok := rule(w); ok {
			return o
		}
	}
	return forward(w)
}

func forward(w *walk) outcome {
	table := w.rules.table
	for i := range table {
		g := &table[i]
		if o := g.done(w); !o.passes() {
			return w.stop(g, o.at(g.Name))
		}
	}
	return outcome{gate: GateForgotten, verdict: Met, reason: ReasonMet}
}

// stop is at the first row that is not met: what a human forbids comes before what the row itself says. A walk that
// stops writes the safe set of the slot step that names are in; the slot step's own waiting does not count as stopping.
func (w *walk) stop(g *gate, o outcome) outcome {
	if h := w.hold(g, &o); h.verdict != "" {
		return w.rules.safe(w, h.at(g.Name))
	}
	if o.action != nil || g.Name == GateShifted && o.step == w.journal.step {
		return o
	}
	return w.rules.safe(w, o)
}

// hold is the reason why no step forward may be taken, if there is one.
func (w *walk) hold(g *gate, own *outcome) outcome {
	switch {
	case rank(w.Intent.Goal) <= rank(v1alpha1.GoalReport):
		if own.verdict == Held {
			return *own
		}
		return held(ReasonReportOnly, "the goal is Report: nothing is done")
	case w.Intent.Paused:
		return held(ReasonPaused, "the entry point is paused")
	case w.Frozen != "":
		return held(ReasonFreezeWindow, "a freeze window holds: "+w.Frozen)
	case rank(g.goal) > rank(w.Intent.Goal):
		return held(ReasonGoalReached, "the goal is "+string(w.Intent.Goal))
	case rank(g.goal) > rank(v1alpha1.GoalStage):
		return w.agreed()
	}
	return outcome{}
}

// agreed is asked past Stage: what is walked is what was approved, and still what would be planned.
func (w *walk) agreed() outcome {
	switch d := w.drift(); {
	case d.verdict != "":
		return d
	case w.frozen == nil || w.Intent.ApprovedPlan != w.frozen.Hash:
		return held(ReasonNotApproved, "approvedPlan is not the hash of the recorded plan")
	}
	return outcome{}
}

// drift tells whether the plan that would be made now differs from the frozen one of this attempt.
func (w *walk) drift() outcome {
	switch {
	case w.frozen == nil || w.frozen.Attempt != w.attempt:
		return outcome{}
	case w.Live == nil:
		return held(cmp.Or(w.LiveReason, ReasonPlanUnknown), "the plan cannot be made anew: "+w.LiveProblem)
	case w.rules.hash(w.Live) != w.frozen.Hash:
		return held(ReasonPlanDrifted, "the plan that would be made now is another one")
	}
	return outcome{}
}

// walkRows is the first of rows whose back face is not met.
func walkRows(w *walk, rows []gate) (outcome, bool) {
	for i := range rows {
		if o := rows[i].undone(w); !o.passes() {
			return o.at(rows[i].Name), true
		}
	}
	return outcome{}, false
}

// rank orders the goals; an unknown goal is Report.
func rank(g v1alpha1.Goal) int {
	return slices.Index([]v1alpha1.Goal{v1alpha1.GoalStage, v1alpha1.GoalCutOver, v1alpha1.GoalRelease, v1alpha1.GoalForget}, g)
}
