package migration

import (
	"fmt"
	"time"

	"offramp.dev/api/v1alpha1"
)

// defaultMaxRetention is how long after release a way back may be kept at most, in seconds, where the policy does not say.
const defaultMaxRetention = 31536000

// Retention is until when a snapshot is kept at least. Its end deletes nothing.
type Retention struct {
	// Until is zero where neither policy nor human set a time, or no snapshot is held.
	Until time.Time
	// Limited says that a human's wish goes past what the policy allows; "" if it does not.
	Limited string
}

// RetentionOf is the later of what the policy asks for, counted from release, and what a human asks for, within what the
// policy allows. Without a policy the documented bound holds, and nothing is asked for. An ended walk retains nothing.
func RetentionOf(p *v1alpha1.MigrationPolicy, wish *v1alpha1.Retention, r Record) Retention {
	if r.Snapshot == nil || over(r.Stamps) {
		return Retention{}
	}
	var settings v1alpha1.RetentionSettings
	if p != nil {
		settings = p.Spec.Retention
	}
	released := releasedAt(r.Stamps)
	var out Retention
	if settings.Seconds != nil && !released.IsZero() {
		out.Until = released.Add(seconds(int64(*settings.Seconds)))
	}
	if wish == nil || !wish.Until.After(out.Until) {
		return out
	}
	from := released
	if from.IsZero() {
		from = r.Snapshot.TakenAt
	}
	bound := MaxRetention(settings, from)
	if out.Until = wish.Until.Time; out.Until.After(bound) {
		out = Retention{Until: bound, Limited: fmt.Sprintf("spec.retention asks for %s, the policy's retention.maxSeconds ends at %s",
			stamped(wish.Until.Time), stamped(bound))}
	}
	return out
}

// MaxRetention is the latest time until which a way back may be kept that is counted from a time: the release, or before it
// when the snapshot was taken.
func MaxRetention(s v1alpha1.RetentionSettings, from time.Time) time.Time {
	return from.Add(seconds(positive(s.MaxSeconds, defaultMaxRetention)))
}

// releasedAt is when the field was last taken off every member, zero if it was not, or is back.
func releasedAt(stamps []Stamp) time.Time {
	var at time.Time
	for i := range stamps {
		switch stamps[i].Kind {
		case v1alpha1.StampReleased:
			at = stamps[i].At
		case v1alpha1.StampRestored, v1alpha1.StampReturned, v1alpha1.StampUndone:
			at = time.Time{}
		case v1alpha1.StampRecorded, v1alpha1.StampIntent, v1alpha1.StampSeen, v1alpha1.StampAbort, v1alpha1.StampDiverged, v1alpha1.StampForgotten:
		}
	}
	return at
}

// over tells whether the youngest line says that the walk has ended.
func over(stamps []Stamp) bool {
	if len(stamps) == 0 {
		return false
	}
	k := stamps[len(stamps)-1].Kind
	return k == v1alpha1.StampUndone || k == v1alpha1.StampForgotten
}

func stamped(t time.Time) string { return t.UTC().Format(time.RFC3339) }
