package main

import (
	"context"

	"offramp.dev/cli"
	"offramp.dev/sim"
)

// rehearse puts the embedded world behind the command.
func rehearse(ctx context.Context, o cli.RehearseOptions) (*cli.Rehearsal, error) {
	objects := o.Objects
	if o.Demo {
		demo, err := sim.Demo()
		if err != nil {
			return nil, err
		}
		objects = demo
	}
	r, err := sim.Rehearse(ctx, sim.Options{
		Objects: objects, RollbackAt: o.RollbackAt, Fault: o.Fault, Seed: o.Seed, Progress: o.Progress,
	})
	if err != nil {
		return nil, err
	}
	out := &cli.Rehearsal{Report: r, Assumed: r.Assumed, Sent: r.Requests.Sent, Lost: r.Requests.Lost}
	for _, e := range r.EntryPoints {
		out.Walks = append(out.Walks, walk(e))
	}
	return out, nil
}

func walk(e sim.EntryPointReport) cli.Walk {
	w := cli.Walk{
		Name: e.Name, Strategy: string(e.Strategy), Outcome: e.Outcome, Why: e.Why,
		Sent: e.Requests.Sent, Lost: e.Requests.Lost, API: e.Writes.API, DNS: e.Writes.DNS,
	}
	for _, g := range e.Gates {
		w.Gates = append(w.Gates, cli.WalkedGate(g))
	}
	return w
}

func faults() []cli.Fault {
	var out []cli.Fault
	for _, f := range sim.Faults() {
		out = append(out, cli.Fault(f))
	}
	return out
}
