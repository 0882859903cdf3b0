package migration

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
)

// FuzzDecide decides on journals and facts as nobody would write them: it must not panic, must answer the same twice,
// must leave the facts alone, and must show one row per gate.
func FuzzDecide(f *testing.F) {
	for i, journal := range []string{
		"", "R", "R I0 S0 I1 S1", "R I0 S0 I3 S3 L I4 S4", "R I0 S0 I2 A2/3", "R I-9 S99 D5 U U F", "R S120 I120 B G L",
	} {
		f.Add(journal, int8(i-1), uint64(i)*0x9e3779b97f4a7c15)
	}
	f.Fuzz(func(t *testing.T, journal string, step int8, bits uint64) {
		for word := range strings.FieldsSeq(journal) {
			if !strings.ContainsRune("RISADLBGUF", rune(word[0])) {
				t.Skip()
			}
		}
		first, second := fuzzed(journal, dnsctl.Step(step%6), bits), fuzzed(journal, dnsctl.Step(step%6), bits)
		a, b := Decide(first), Decide(first)
		if !reflect.DeepEqual(a, b) {
			t.Errorf("decides %s, then %s", a, b)
		}
		if !reflect.DeepEqual(first, second) {
			t.Error("the facts were changed")
		}
		if len(a.Rows) != len(Gates()) {
			t.Errorf("%d rows", len(a.Rows))
		}
	})
}

// fuzzed turns things off or around by bits.
func fuzzed(journal string, k dnsctl.Step, bits uint64) Facts {
	percents := [][]int32{{25, 50, 100}, nil, {100}, {0, -5, 101}}[bits%4]
	facts := scene(journal, max(k, -1))
	plan := *facts.Live
	plan.Settings.Percents = percents
	for i, edit := range []func(*Facts){
		goBack, blind, failing, taken, paused, frozen, noTarget, noNamesMove, unapproved, attempt(3),
		func(f *Facts) { f.Live = nil },
		func(f *Facts) { f.Live = &plan; f.Record.Plans[0].Plan = &plan },
		func(f *Facts) { f.Record.Plans[0].Plan = nil },
		func(f *Facts) { f.Record.Plans = nil },
		func(f *Facts) { f.Record.Full = true },
		func(f *Facts) { f.Fields = nil },
		func(f *Facts) { f.Fields = append(f.Fields, Field{Missing: true}, Field{Mark: 9, Present: true}) },
		func(f *Facts) { f.Names = append(f.Names, NameFacts{}) },
		func(f *Facts) { f.Now = time.Time{} },
		func(f *Facts) { f.Intent.Goal, f.Intent.Attempt = v1alpha1.Goal("?"), -1 },
		func(f *Facts) { f.Claims, f.Guarded = Claims{Conflicts: []string{"x"}}, See(false) },
		func(f *Facts) { f.Slots = false },
	} {
		if bits>>(i+2)&1 == 1 && (len(facts.Record.Plans) > 0 || i < 10) {
			edit(&facts)
		}
	}
	return facts
}
