package controllers

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/addresspool"
	"offramp.dev/addresspool/metallb"
	"offramp.dev/api/v1alpha1"
)

// ConditionAtRisk of an AddressClaim is true while something else than Offramp may take its address, or stop serving it.
const ConditionAtRisk = "AddressAtRisk"

// Reasons of the conditions of an AddressClaim. They are a contract.
const (
	// reasonSafe: the pools are as the claim needs them.
	reasonSafe = "Safe"
	// reasonOutsidePools: no pool holds the address that the platform allocated, so MetalLB would not give it again.
	reasonOutsidePools = "OutsidePools"
	// reasonInsidePool: a pool holds an address that is served without MetalLB, so MetalLB may give it to somebody else.
	reasonInsidePool = "InsidePool"
	// reasonPoolsUnknown: the pools could not be read.
	reasonPoolsUnknown = "PoolsUnknown"
)

// reportRisk says whether the address of a claim is safe from the pools, which an admin may change at any time.
func (r *Claims) reportRisk(ctx context.Context, claim *v1alpha1.AddressClaim) error {
	pools, served, err := metallb.List(ctx, r.Cached)
	c := atRisk(&claim.Spec, pools, served, err)
	c.ObservedGeneration, c.LastTransitionTime = claim.Generation, metav1.NewTime(r.Now().Truncate(time.Second))
	next := claim.DeepCopy()
	meta.SetStatusCondition(&next.Status.Conditions, c)
	meta.SetStatusCondition(&next.Status.Conditions, safe(c))
	if equality.Semantic.DeepEqual(claim.Status, next.Status) {
		return nil
	}
	if err := r.Client.Status().Patch(ctx, next, client.MergeFrom(claim), owner); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("reporting AddressClaim %s: %w", claim.Name, err))
	}
	was := meta.FindStatusCondition(claim.Status.Conditions, ConditionAtRisk)
	if r.Events != nil && c.Status == metav1.ConditionTrue && (was == nil || was.Status != c.Status) {
		r.Events.Eventf(next, nil, "Warning", c.Reason, ConditionAtRisk, "%s", c.Message)
	}
	return nil
}

// atRisk compares one row with the pools. An allocated address must lie in one; an old or adopted one in none.
func atRisk(row *v1alpha1.AddressClaimSpec, pools []addresspool.Pool, served bool, problem error) metav1.Condition {
	address, _, err := addresspool.Canonical(row.Address)
	switch {
	case problem != nil:
		return riskCondition(metav1.ConditionUnknown, reasonPoolsUnknown, "the pools could not be read: "+problem.Error())
	case err != nil:
		return riskCondition(metav1.ConditionUnknown, reasonPoolsUnknown, err.Error())
	case !served && row.Role == v1alpha1.ClaimNew:
		return riskCondition(metav1.ConditionUnknown, reasonPoolsUnknown, "MetalLB's kinds are not served, so nobody can tell who gives "+row.Address)
	}
	in := holding(pools, address)
	switch {
	case row.Role == v1alpha1.ClaimNew && len(in) == 0:
		return riskCondition(metav1.ConditionTrue, reasonOutsidePools, "no IPAddressPool holds "+row.Address+" any more: MetalLB takes it off its Service; put it back into a pool")
	case row.Role != v1alpha1.ClaimNew && len(in) > 0:
		return riskCondition(metav1.ConditionTrue, reasonInsidePool, fmt.Sprintf("IPAddressPool %s holds %s, which is served without MetalLB: "+
			"it may be given to somebody else; take it out of the pool", strings.Join(in, ", "), row.Address))
	}
	return riskCondition(metav1.ConditionFalse, reasonSafe, "the pools are as the claim needs them")
}

func holding(pools []addresspool.Pool, address netip.Addr) []string {
	var out []string
	for _, p := range pools {
		if p.Contains(address) {
			out = append(out, p.Namespace+"/"+p.Name)
		}
	}
	slices.Sort(out)
	return out
}

func riskCondition(status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: ConditionAtRisk, Status: status, Reason: reason, Message: clip(message)}
}

// safe is the condition Ready, which is true while the address is known not to be at risk.
func safe(risk metav1.Condition) metav1.Condition {
	risk.Type = ConditionReady
	switch risk.Status {
	case metav1.ConditionTrue:
		risk.Status = metav1.ConditionFalse
	case metav1.ConditionFalse:
		risk.Status = metav1.ConditionTrue
	case metav1.ConditionUnknown:
	}
	return risk
}
