package observe

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/migration"
)

// traffic asks the observations who uses the two paths.
func (l *Looker) traffic(ctx context.Context, _ client.Reader, w *World, plan *migration.Plan, f *migration.Facts) error {
	if plan == nil || !f.Record.Exists {
		return nil
	}
	var all v1alpha1.ObservationList
	if err := l.Cached.List(ctx, &all); err != nil {
		return fmt.Errorf("listing Observations: %w", err)
	}
	in := migration.TrafficInput{Now: f.Now, Watched: migration.WatchedHash(w.Claims), Settings: plan.Settings}
	for i := range all.Items {
		in.Observations = append(in.Observations, &all.Items[i])
	}
	for i := range w.nodes {
		in.Nodes = append(in.Nodes, w.nodes[i].Name)
	}
	for _, m := range plan.Members {
		in.Ports = append(in.Ports, m.Ports...)
	}
	in.Addresses = texts(plan.OldAddresses)
	f.OldUse = migration.Traffic(in)
	in.Addresses, in.ProxyGoes = texts(plan.NewAddresses), plan.Strategy == v1alpha1.StrategyGateway
	// A load balancer's announcement goes with its Service, and established connections with it.
	in.Settings.Attraction = v1alpha1.AttractionAnnouncer
	f.NewUse = migration.Traffic(in)
	f.NewUse.Shared = alongside(w)
	w.Traffic = f.OldUse
	return nil
}

// alongside names those who share the new address with us on the same ports, a few of them.
func alongside(w *World) string {
	const most = 3
	list := addresspool.Neighbors(addresspool.Rows(w.Claims), w.EntryPoint.Name)
	if more := len(list) - most; more > 0 {
		list = append(list[:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(list, ", ")
}

func texts(addrs []netip.Addr) []string {
	out := make([]string, 0, len(addrs))
	for _, a := range addrs {
		out = append(out, a.String())
	}
	return out
}
