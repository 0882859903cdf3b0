package agent

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"offramp.dev/api/v1alpha1"
)

// Status is the report of what was seen.
func (o *Observer) Status(now time.Time) v1alpha1.ObservationStatus {
	out := v1alpha1.ObservationStatus{
		Source: v1alpha1.SourceNode, Node: o.identity.Node, BootID: o.identity.BootID,
		ProxyMode:  cmp.Or(o.identity.ProxyMode, o.mode),
		ReportedAt: metav1.NewTime(now), CoverageSince: metav1.NewTime(o.since), Watched: o.hash,
		StaleAfterSeconds: o.identity.StaleAfter, Signals: o.signals, BlindSpots: o.blind, Gaps: o.gaps,
	}
	for _, t := range slices.SortedFunc(maps.Keys(o.tuples), inOrder) {
		if !o.tuples[t].shown(o.since) {
			continue
		}
		if len(out.Traffic) == maxRows {
			out.Overflow = true
			break
		}
		out.Traffic = append(out.Traffic, o.row(t))
	}
	return out
}

func inOrder(a, b Tuple) int {
	return cmp.Or(a.Address.Compare(b.Address), cmp.Compare(a.Port, b.Port), strings.Compare(a.Protocol, b.Protocol))
}

func (o *Observer) row(t Tuple) v1alpha1.TupleTraffic {
	u := o.tuples[t]
	out := v1alpha1.TupleTraffic{
		Address: t.Address.String(), Port: t.Port, Protocol: t.Protocol, Established: u.established, HalfOpen: u.halfOpen,
		LastNew: stamp(u.lastNew), LastAttempt: stamp(u.lastAttempt), Translated: u.translated, Listener: u.listener,
	}
	if u.since.After(o.since) {
		out.Since = stamp(u.since)
	}
	return out
}

// stamp is nil for what never happened.
func stamp(at time.Time) *metav1.Time {
	if at.IsZero() {
		return nil
	}
	out := metav1.NewTime(at)
	return &out
}
