package observe

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/guard"
	"offramp.dev/migration"
)

// Canary is an address that the guard's parameters always claim and nobody can hold: the IPv4 dummy address of RFC 7600.
// A dry run that claims it proves that the policy, its binding and its parameters act before any claim exists.
const Canary = "192.0.0.8"

// guardRecheck is how long one answer of the guard is believed.
const guardRecheck = time.Minute

// guarded asks the API server, by dry runs, whether the canary and every claimed address are denied to others.
func (l *Looker) guarded(ctx context.Context, w *World, f migration.Facts) migration.Seen[bool] {
	if f.Intent.Goal == v1alpha1.GoalReport {
		return migration.Unseen[bool]("not asked before goal Stage")
	}
	addresses := []string{Canary}
	for i := range w.Claims {
		if s := &w.Claims[i].Spec; addresspool.HeldBy(s, w.EntryPoint.Name) {
			addresses = append(addresses, s.Address)
		}
	}
	h, set := l.of(w.EntryPoint.Name), strings.Join(addresses, " ")
	h.Lock()
	defer h.Unlock()
	if h.guardedSet == set && h.guarded.Known && h.guarded.Value && f.Now.Sub(h.guardedAt) < guardRecheck {
		return h.guarded
	}
	h.guarded, h.guardedSet, h.guardedAt = l.denied(ctx, addresses), set, f.Now
	return h.guarded
}

func (l *Looker) denied(ctx context.Context, addresses []string) migration.Seen[bool] {
	for _, a := range addresses {
		switch answer := l.dryRun(ctx, a); {
		case !answer.Known:
			return answer
		case !answer.Value:
			return migration.Seen[bool]{Known: true, Why: "a Service that claims " + a + " would be admitted"}
		}
	}
	return migration.See(true)
}

// dryRun creates, without storing it, a Service that claims the address and holds nothing.
func (l *Looker) dryRun(ctx context.Context, address string) migration.Seen[bool] {
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "offramp-guard-check-", Namespace: l.Namespace},
		Spec:       corev1.ServiceSpec{ExternalIPs: []string{address}, Ports: []corev1.ServicePort{{Port: 1, Protocol: corev1.ProtocolTCP}}},
	}
	err := l.Guard.Create(ctx, svc, client.DryRunAll)
	switch {
	case err == nil:
		return migration.See(false)
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), guard.PolicyClaimed):
		return migration.See(true)
	default:
		return migration.Unseen[bool]("the dry run was answered with: " + err.Error())
	}
}
