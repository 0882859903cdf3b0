package sim

import (
	"context"
	"time"

	"offramp.dev/probe"
)

// prober answers probes from the emulated data path. A probe is a connection: the agents see it like any other.
type prober struct{ traffic *traffic }

var _ probe.Port = prober{}

// Probe is one look at one literal address.
func (p prober) Probe(_ context.Context, c probe.Check) probe.Result {
	out := probe.Result{Check: c, Outcome: probe.Good, Detail: "emulated: answered", Took: time.Millisecond}
	if c.Kind == probe.UDP || c.Kind == probe.SCTP {
		out.Outcome, out.Detail = probe.Inconclusive, "emulated: a protocol that never answers proves nothing"
		return out
	}
	to := Tuple{c.Address, int32(c.Port), "TCP"}
	if _, ok := p.traffic.path.dial(to, c.Host); !ok {
		out.Outcome, out.Detail = probe.Failed, "emulated: nothing answers at "+c.Address.String()
		return out
	}
	p.traffic.seen[to] = p.traffic.now()
	return out
}
