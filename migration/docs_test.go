package migration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocsAreMadeOfTheTable keeps docs/gates.md and docs/conditions.md equal to what the code says; -update writes them.
func TestDocsAreMadeOfTheTable(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"gates.md": gatesPage(), "conditions.md": conditionsPage()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join("..", "docs", name)
			if *update {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != text {
				t.Errorf("docs/%s is stale: go test ./migration -run TestDocsAreMadeOfTheTable -update", name)
			}
		})
	}
}

func TestEveryReasonIsExplainedOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range ReasonDocs() {
		if seen[r.Reason] {
			t.Errorf("%s stands twice", r.Reason)
		}
		seen[r.Reason] = true
		if !strings.HasSuffix(r.Meaning, ".") || r.Verdict == "" {
			t.Errorf("%s is not explained by a sentence and a verdict", r.Reason)
		}
	}
}

const generated = "<!-- Generated from package migration; do not edit. go test ./migration -run TestDocsAreMadeOfTheTable -update -->\n"

func gatesPage() string {
	var b strings.Builder
	b.WriteString("# Gates\n\n" + generated + `
A walk is one table. Forward reads it down: the first gate that is not met decides, and at most one change is made. Back
reads it up, by the other two columns. Nothing stores a current step: the journal of stamps in the MigrationRecord is the
only memory, and every pass starts at the top.

| gate | from goal | done when | forward | undone when | back |
|---|---|---|---|---|---|
`)
	for _, g := range Gates() {
		name := string(g.Name)
		if g.Waivable {
			name += " (waivable)"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", name, g.Goal, dash(g.Done), dash(g.Forward), dash(g.Undone), dash(g.Back))
	}
	b.WriteString(`
## Before the table

In this order; the first that speaks decides:

1. A walk that ended (Undone in this attempt, or Forgotten) does nothing, whatever the world does later.
2. Our mark stands beside another answer, or a step that was seen is no longer so: stamp Diverged.
3. Somebody else put the field back: stamp Returned. The field is back by our own hand: stamp Restored.
4. The new path is known to fail while a name serves it and the old path still stands: stamp Abort. A goal Report, a pause,
   a freeze window and a drifted plan do not stop this.
5. While the attempt has an Abort the names go back (` + "`onFailure: ShiftBack`" + `), and stay there until the next attempt.
6. Direction Back walks the table up. Only a pause stops it.
7. After release the target objects are repaired; only a pause stops that.

Then, forward, in this order: goal Report, pause, freeze window, goal reached, and past Stage a plan that drifted or was not
approved. A walk that stops inside a slot step writes the step's safe set first.

## Steps

Every change of names is a step with three parts: its intent is stamped, the primary servers are changed, and that every
server answers it is stamped. Step -1 is the snapshot, 0 the old set at the low TTL, 1 to n the shares, n+1 the new set at the
original TTL. A TTL is counted from when the last server was seen, never from the intent. Several names move together: names
of one zone in one change, one zone per pass, and a step is seen when every server of every name answers it.

## Waivers

A waiver of Guarded or Drained stands in for its evidence; one of Drained in both directions. A waiver of Proven stands in for
missing probes and samples, never for a path that is known to fail; one of Settled, on the way back only, for probes of the old
path that nobody could make. A waiver of Eligible answers the findings that ask (` + "`Ask`" + `), and none that blocks.
`)
	return b.String()
}

func conditionsPage() string {
	var b strings.Builder
	b.WriteString("# Conditions\n\n" + generated + `
An EntryPoint has one condition for every gate, named like the gate:

`)
	for _, g := range Gates() {
		fmt.Fprintf(&b, "- %s\n", g.Name)
	}
	b.WriteString(`
The verdict of a gate says more than a condition's status can. Met, Moot and NotApplicable let the walk pass. Unmet has a
change of its own, Waiting is met by time or by the world, Unknown could not be looked at, Held needs a human, Later was not
reached. What could not be seen is never shown as met.

## Reasons

Codes are stable: a code keeps its meaning, new ones may come. A finding that blocks shows its own code at Eligible.

| reason | verdict | meaning |
|---|---|---|
`)
	for _, r := range ReasonDocs() {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.Reason, r.Verdict, r.Meaning)
	}
	b.WriteString(`
## RollbackAvailable

True only if a dry run of every step back passes now, False if one does not, Unknown if that cannot be told. It is looked at
while the walk is under way, at most once a minute, and in retention every ` + "`recheckSeconds`" + `. Before release it says what going
back after release would meet. A row that would hold the way back (a name that somebody else owns) shows its own reason.

| reason | verdict | meaning |
|---|---|---|
`)
	for _, r := range RollbackReasons() {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.Reason, r.Verdict, r.Meaning)
	}
	b.WriteString(`
## SnapshotExpired

Only where a retention is set, by the policy or by ` + "`kubectl offramp extend`" + `. True while the snapshot is still held although its
time is over; nothing is deleted then: raise the goal to Forget, or extend it.
`)
	return b.String()
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
