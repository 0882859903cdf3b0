package controllers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
	"offramp.dev/gateway"
	"offramp.dev/observe"
)

// settingsRecheck is how often policies and zones are looked at again: what they name may come and go without an event.
const settingsRecheck = 5 * time.Minute

// Policies says whether what a MigrationPolicy names exists.
type Policies struct{ *Ports }

// Reconcile looks at one policy.
func (r *Policies) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var p v1alpha1.MigrationPolicy
	if err := r.Client.Get(ctx, req.NamespacedName, &p); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	// The guard's parameters must stand before the first claim does: its canary is what gate Guarded asks for.
	if err := (&Claims{r.Ports}).syncGuard(ctx); err != nil {
		return reconcile.Result{}, err
	}
	next := p.DeepCopy()
	r.ready(&next.Status.Conditions, next.Generation, r.problems(ctx, next))
	if equality.Semantic.DeepEqual(p.Status, next.Status) {
		return reconcile.Result{RequeueAfter: settingsRecheck}, nil
	}
	return reconcile.Result{RequeueAfter: settingsRecheck}, r.Client.Status().Patch(ctx, next, client.MergeFrom(&p), owner)
}

// problems names each thing that the policy names and that is not there, with the field.
func (r *Policies) problems(ctx context.Context, p *v1alpha1.MigrationPolicy) []string {
	out := r.gatewayProblems(ctx, p.Spec.Gateway)
	for i, name := range p.Spec.Zones {
		var z v1alpha1.DNSZone
		if err := r.Client.Get(ctx, client.ObjectKey{Name: name}, &z); err != nil {
			out = append(out, fmt.Sprintf("spec.zones[%d]: DNSZone %q: %v", i, name, err))
		}
	}
	pools, err := observe.Pools(ctx, r.Cached)
	if err != nil {
		return append(out, "spec.pools: "+err.Error())
	}
	for i, name := range p.Spec.Pools {
		if !observe.HasPool(pools, name) {
			out = append(out, fmt.Sprintf("spec.pools[%d]: IPAddressPool %q does not exist in the cluster", i, name))
		}
	}
	return out
}

func (r *Policies) gatewayProblems(ctx context.Context, g *v1alpha1.GatewaySettings) []string {
	if g == nil {
		return nil
	}
	var class gatewayv1.GatewayClass
	if err := r.Client.Get(ctx, client.ObjectKey{Name: g.ClassName}, &class); err != nil {
		return []string{fmt.Sprintf("spec.gateway.className: GatewayClass %q: %v", g.ClassName, err)}
	}
	if _, known := gateway.ProfileFor(string(class.Spec.ControllerName), g); !known {
		return []string{fmt.Sprintf("spec.gateway.profile: nothing is known about controller %q of GatewayClass %q; "+
			"set Annotation or StaticService", class.Spec.ControllerName, g.ClassName)}
	}
	return nil
}

// ready sets the one condition of a settings object.
func (p *Ports) ready(conditions *[]metav1.Condition, generation int64, problems []string) {
	c := metav1.Condition{
		Type: ConditionReady, Status: metav1.ConditionTrue, Reason: "Usable", Message: "Everything it names was found.",
		ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(p.Now().Truncate(time.Second)),
	}
	if len(problems) > 0 {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, "NotUsable", clip(strings.Join(problems, "; "))
	}
	meta.SetStatusCondition(conditions, c)
}

// Zones says whether a DNSZone can be read and written.
type Zones struct{ *Ports }

// Reconcile looks at one zone: the key, every server, and the clock of the primary.
func (r *Zones) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var z v1alpha1.DNSZone
	if err := r.Client.Get(ctx, req.NamespacedName, &z); err != nil {
		if apierrors.IsNotFound(err) {
			forgetZone(req.Name)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	next := z.DeepCopy()
	r.ready(&next.Status.Conditions, next.Generation, r.problems(ctx, next))
	if equality.Semantic.DeepEqual(z.Status, next.Status) {
		return reconcile.Result{RequeueAfter: settingsRecheck}, nil
	}
	return reconcile.Result{RequeueAfter: settingsRecheck}, r.Client.Status().Patch(ctx, next, client.MergeFrom(&z), owner)
}

func (r *Zones) problems(ctx context.Context, z *v1alpha1.DNSZone) []string {
	var out []string
	if z.Spec.Mode == v1alpha1.ZoneModeRRset {
		out = append(out, r.keyProblems(ctx, z)...)
	}
	zone, askable := observe.ZoneOf(z), len(out) == 0
	for i, server := range append([]string{zone.Primary}, zone.Servers...) {
		if _, err := r.DNS.Query(ctx, zone, server, zone.Apex); err != nil {
			field := "spec.primary"
			if i > 0 {
				field = fmt.Sprintf("spec.servers[%d]", i-1)
			}
			askable = askable && i > 0
			out = append(out, fmt.Sprintf("%s: %s does not answer for %s: %v", field, server, zone.Apex, err))
		}
	}
	clockSkew.DeleteLabelValues(z.Name)
	if askable && !zone.Manual {
		out = append(out, r.clockProblems(ctx, zone)...)
	}
	return out
}

// clockProblems compares the clocks before anything is written, and shows on the way whether the primary takes the key. A
// server that shows no clock is no problem: the class of a failed update tells then.
func (r *Zones) clockProblems(ctx context.Context, zone dnsctl.Zone) []string {
	port, ok := r.DNS.(dnsctl.Clocked)
	if !ok {
		return nil
	}
	skew, err := port.Skew(ctx, zone)
	switch {
	case errors.Is(err, dnsctl.ErrNoClock):
		return nil
	case err != nil && skew == 0:
		return []string{fmt.Sprintf("spec.keySecret: %s does not take the key, or cannot show that it does: %v", zone.Primary, err)}
	}
	clockSkew.WithLabelValues(zone.Object).Set(skew.Seconds())
	if skew.Abs() <= dnsctl.MaxSkew {
		return nil
	}
	// Rounded, so that a clock that drifts is no write of status each time.
	return []string{fmt.Sprintf("spec.primary: the clock of %s is about %s %s the controller's, and updates fail at 5m0s: "+
		"set both by NTP", zone.Primary, skew.Abs().Round(time.Minute), aheadOrBehind(skew))}
}

func aheadOrBehind(skew time.Duration) string {
	if skew > 0 {
		return "ahead of"
	}
	return "behind"
}

func (r *Zones) keyProblems(ctx context.Context, z *v1alpha1.DNSZone) []string {
	var s corev1.Secret
	if err := r.Live.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: z.Spec.KeySecret}, &s); err != nil {
		return []string{fmt.Sprintf("spec.keySecret: Secret %s/%s: %v", r.Namespace, z.Spec.KeySecret, err)}
	}
	var out []string
	for _, key := range []string{"name", "algorithm", "secret"} {
		if len(s.Data[key]) == 0 {
			out = append(out, fmt.Sprintf("spec.keySecret: Secret %s/%s lacks data key %q", r.Namespace, z.Spec.KeySecret, key))
		}
	}
	return out
}
