package observe

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
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
	in, err := l.reports(ctx, w)
	if err != nil {
		return err
	}
	in.Now, in.Settings = f.Now, plan.Settings
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

// heartbeatPatience is how long a pass waits for the Leases at most. The cache answers at once, unless it may not list them.
const heartbeatPatience = 2 * time.Second

// reports are what every path's verdict rests on. Heartbeats that cannot be read leave reports as old as they say, which is
// unknown sooner and never quiet: no walk stands still for them, for it may have to go back.
func (l *Looker) reports(ctx context.Context, w *World) (migration.TrafficInput, error) {
	var all v1alpha1.ObservationList
	if err := l.Cached.List(ctx, &all); err != nil {
		return migration.TrafficInput{}, fmt.Errorf("listing Observations: %w", err)
	}
	in := trafficInput(w, all.Items)
	beats, err := l.heartbeats(ctx)
	if err != nil {
		in.HeartbeatsUnseen = err.Error()
	}
	in.Heartbeats = beats
	return in, nil
}

// heartbeats are the Leases of the agents.
func (l *Looker) heartbeats(ctx context.Context) (migration.Heartbeats, error) {
	if l.AgentNamespace == "" {
		return nil, nil //nolint:nilnil // agents that keep no Leases are no fault
	}
	ctx, cancel := context.WithTimeout(ctx, heartbeatPatience)
	defer cancel()
	var all coordinationv1.LeaseList
	if err := l.Cached.List(ctx, &all, client.InNamespace(l.AgentNamespace)); err != nil {
		return nil, fmt.Errorf("listing Leases in namespace %s: %w", l.AgentNamespace, err)
	}
	out := migration.Heartbeats{}
	for i := range all.Items {
		s := all.Items[i].Spec
		if s.HolderIdentity != nil && s.RenewTime != nil {
			out[all.Items[i].Name] = migration.Heartbeat{Report: *s.HolderIdentity, At: s.RenewTime.Time}
		}
	}
	return out, nil
}

// trafficInput holds the nodes with their present boots, the reports, and what should be watched.
func trafficInput(w *World, reports []v1alpha1.Observation) migration.TrafficInput {
	in := migration.TrafficInput{Watched: migration.WatchedHash(w.Claims), BootIDs: map[string]string{}}
	for i := range reports {
		in.Observations = append(in.Observations, &reports[i])
	}
	for i := range w.nodes {
		n := &w.nodes[i]
		in.Nodes = append(in.Nodes, n.Name)
		in.BootIDs[n.Name] = n.Status.NodeInfo.BootID
	}
	return in
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
