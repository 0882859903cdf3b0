package migration

import (
	"math"
	"time"

	"offramp.dev/dnsctl"
)

// typicalResolvers is for how many resolvers of equal weight the expected error is given: few enough for a company's own.
const typicalResolvers = 10

// Share is how much of the new connections the walk sends to the new path, in percent.
type Share struct {
	// Nominal is what the step asks for: the smallest over the names, 0 before the first share.
	Nominal int32
	// Error is the standard deviation to expect of it, in points, rounded up, through ten equal resolvers over the step's soak.
	Error int32
	// Measured is the new path's part of the connections that are open now.
	Measured Seen[int32]
}

// ShareOf says what the youngest intent asks for, how exact that can be, and what is seen of it. It decides nothing.
func ShareOf(f Facts) Share {
	out := Share{Measured: measured(f.OldUse, f.NewUse)}
	plan := frozenOf(f)
	step, intended := youngestIntent(f.Record.Stamps)
	if plan == nil || !intended || step <= dnsctl.StepLowTTL || len(f.Names) == 0 {
		return out
	}
	out.Nominal = 100
	soak := time.Duration(plan.Settings.StepSoak) * time.Second
	for i := range f.Names {
		nominal, sd := f.Names[i].Name.StepShare(step, plan.Settings.Percents, soak, typicalResolvers)
		out.Nominal = min(out.Nominal, int32(math.Round(nominal)))
		out.Error = max(out.Error, int32(math.Ceil(sd)))
	}
	return out
}

func frozenOf(f Facts) *Plan {
	if n := len(f.Record.Plans); n > 0 {
		return f.Record.Plans[n-1].Plan
	}
	return nil
}

func youngestIntent(stamps []Stamp) (dnsctl.Step, bool) {
	j := readJournal(stamps, 0)
	return j.step, j.intended
}

// measured is unknown where one side could not be counted, where the new address serves others too, and where nobody is
// connected at all.
func measured(from, to Use) Seen[int32] {
	before, after := from.Established, to.Established
	switch {
	case !before.Known:
		return Unseen[int32]("the old path: " + before.Why)
	case !after.Known:
		return Unseen[int32]("the new path: " + after.Why)
	case to.Shared != "":
		return Unseen[int32]("the new path also serves " + to.Shared)
	case before.Value+after.Value <= 0:
		return Unseen[int32]("no connection is open")
	}
	return See(int32(min(100, max(0, 100*after.Value/(before.Value+after.Value)))))
}
