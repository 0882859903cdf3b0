package plane

import (
	"net/netip"
	"slices"
	"sync"
)

// balancer gives a rule's requests to its backends by weight, and to a backend's endpoints in turn.
type balancer struct {
	backends []Backend

	mu      sync.Mutex
	credits []int64
	turns   []int
}

func newBalancer(backends []Backend) *balancer {
	return &balancer{backends: backends, credits: make([]int64, len(backends)), turns: make([]int, len(backends))}
}

// choice is where one request goes: the endpoints in the order to try them. broken: the backend is no backend.
type choice struct {
	broken    bool
	endpoints []netip.AddrPort
}

// next spreads smoothly (as nginx does): everybody earns its weight, the richest serves and pays the total.
func (b *balancer) next() choice {
	b.mu.Lock()
	defer b.mu.Unlock()
	best, total := -1, int64(0)
	for i, backend := range b.backends {
		weight := int64(backend.Weight)
		b.credits[i] += weight
		total += weight
		if weight > 0 && (best < 0 || b.credits[i] > b.credits[best]) {
			best = i
		}
	}
	if best < 0 {
		return choice{broken: true}
	}
	b.credits[best] -= total
	if b.backends[best].Broken {
		return choice{broken: true}
	}
	return choice{endpoints: b.turn(best)}
}

// turn rotates the endpoints of a backend: the next one first, the others to fall back to.
func (b *balancer) turn(backend int) []netip.AddrPort {
	all := b.backends[backend].Endpoints
	if len(all) == 0 {
		return nil
	}
	first := b.turns[backend] % len(all)
	b.turns[backend] = first + 1
	return slices.Concat(all[first:], all[:first])
}
