package observe

import (
	"context"
	"fmt"
	"net/netip"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
)

// readPeers reads which new addresses other entry points mean to take, so that two that are staged side by side do not
// plan the same one. It is a courtesy only: the claim is the lock.
func (l *Looker) readPeers(ctx context.Context, _ client.Reader, w *World) error {
	var all v1alpha1.EntryPointList
	if err := l.Cached.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing EntryPoints: %w", err)
	}
	for i := range all.Items {
		w.peers = append(w.peers, intended(w.EntryPoint.Name, &all.Items[i])...)
	}
	return nil
}

// intended are the addresses of a peer that we keep away from: it has recorded them, or its name comes before ours, which
// settles who gives way.
func intended(me string, peer *v1alpha1.EntryPoint) []addresspool.Use {
	if peer.Name == me || peer.Status.Record == "" && peer.Name > me {
		return nil
	}
	var out []addresspool.Use
	for _, text := range peer.Status.NewAddresses {
		if a, err := netip.ParseAddr(text); err == nil {
			out = append(out, addresspool.Use{Address: a, Object: "EntryPoint " + peer.Name})
		}
	}
	return out
}
