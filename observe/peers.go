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

// makePlan makes a plan on addresses that no other entry point means to take. Who plans looks at all others and says what it
// chose before the next one looks. It is a courtesy only: the claim is the lock.
func (l *Looker) makePlan(ctx context.Context, w *World, in migration.PlanInput) (*migration.Plan, []v1alpha1.Finding, error) {
	l.planning.Lock()
	defer l.planning.Unlock()
	if in.Frozen == nil {
		peers, err := l.peers(ctx, w.EntryPoint)
		if err != nil {
			return nil, nil, err
		}
		in.Uses = append(in.Uses, peers...)
	}
	plan, findings := migration.MakePlan(in)
	chosen := []netip.Addr{}
	if plan != nil {
		chosen = append(chosen, plan.NewAddresses...)
	}
	l.planned[w.EntryPoint.Name] = chosen
	return plan, findings, nil
}

// peers are the new addresses that other entry points mean to take. What this process planned itself is newer than any
// status. The caller holds planning.
func (l *Looker) peers(ctx context.Context, me *v1alpha1.EntryPoint) ([]addresspool.Use, error) {
	var all v1alpha1.EntryPointList
	if err := l.Cached.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing EntryPoints: %w", err)
	}
	var out []addresspool.Use
	mine := l.plannedBy(me)
	for i := range all.Items {
		out = append(out, intended(me.Name, mine, &all.Items[i], l.plannedBy(&all.Items[i]))...)
	}
	return out, nil
}

// plannedBy are the new addresses of an entry point's plan: as this process last made it, else as its status says.
func (l *Looker) plannedBy(ep *v1alpha1.EntryPoint) []netip.Addr {
	if chosen, ok := l.planned[ep.Name]; ok {
		return chosen
	}
	var out []netip.Addr
	for _, text := range ep.Status.NewAddresses {
		if a, err := netip.ParseAddr(text); err == nil {
			out = append(out, a)
		}
	}
	return out
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
