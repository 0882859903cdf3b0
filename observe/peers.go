package observe

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/migration"
)

// readPeers reads which new addresses other entry points mean to take, so that two that are staged side by side do not
// plan the same one. What this process planned itself is newer than any status. It is a courtesy only: the claim is the
// lock.
func (l *Looker) readPeers(ctx context.Context, _ client.Reader, w *World) error {
	var all v1alpha1.EntryPointList
	if err := l.Cached.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing EntryPoints: %w", err)
	}
	mine := l.planned(w.EntryPoint)
	for i := range all.Items {
		w.peers = append(w.peers, intended(w.EntryPoint.Name, mine, &all.Items[i], l.planned(&all.Items[i]))...)
	}
	return nil
}

// planned are the new addresses of an entry point's plan: as this process last made it, else as its status says.
func (l *Looker) planned(ep *v1alpha1.EntryPoint) []netip.Addr {
	h := l.of(ep.Name)
	h.Lock()
	defer h.Unlock()
	if h.planned != nil {
		return h.planned
	}
	var out []netip.Addr
	for _, text := range ep.Status.NewAddresses {
		if a, err := netip.ParseAddr(text); err == nil {
			out = append(out, a)
		}
	}
	return out
}

// plans remembers the new addresses of a plan that was just made.
func (l *Looker) plans(name string, plan *migration.Plan) {
	h := l.of(name)
	h.Lock()
	defer h.Unlock()
	if h.planned = []netip.Addr{}; plan != nil {
		h.planned = append(h.planned, plan.NewAddresses...)
	}
}

// intended are the addresses of a peer that we keep away from: who planned an address first has it. Where both planned it
// unseen by each other, the one that recorded it keeps it, else the one whose name comes first.
func intended(me string, mine []netip.Addr, peer *v1alpha1.EntryPoint, planned []netip.Addr) []addresspool.Use {
	if peer.Name == me {
		return nil
	}
	first := peer.Status.Record != "" || peer.Name < me
	var out []addresspool.Use
	for _, a := range planned {
		if first || !slices.Contains(mine, a) {
			out = append(out, addresspool.Use{Address: a, Object: "EntryPoint " + peer.Name})
		}
	}
	return out
}
