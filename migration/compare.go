package migration

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
)

const (
	// defaultLatencyPercent is the documented default of probes.latencyPercent.
	defaultLatencyPercent = 200
	// leastLatencies of each path make a percentile, and less than latencyFloor more is noise.
	leastLatencies = 5
	latencyFloor   = 10 * time.Millisecond
	// mostLeafNames of a certificate that a sentence holds.
	mostLeafNames = 4
)

// Answer is what a server showed of itself in one check, for comparison. It holds no byte of a body; zero fields were not
// shown.
type Answer struct {
	// Status of HTTP.
	Status int
	// TLS: a handshake was completed; Names, in order, and the validity are the leaf's, Chain is a hash of what stands above.
	TLS             bool
	Names           []string
	Begins, Expires time.Time
	Chain           string
	// Body is a hash of the first 64 KiB.
	Body string
}

// Sample is one good check of one path. A check that failed has nothing to compare: it is judged by itself.
type Sample struct {
	Answer

	Took time.Duration
}

// Difference is one aspect in which the new path answers otherwise than the old one.
type Difference struct {
	Aspect v1alpha1.ProbeAspect `json:"aspect"`
	Old    string               `json:"old"`
	New    string               `json:"new"`
	// MustMatch: the policy asks for equality, so the difference fails the new path. Others are listed only.
	MustMatch bool `json:"mustMatch"`
}

// String is the difference in one sentence.
func (d Difference) String() string {
	return fmt.Sprintf("%s: the old path answers %s, the new one %s", d.Aspect, d.Old, d.New)
}

// Compare tells in what the new path answers otherwise than the old one, from good samples of the same check in the order
// in which they were taken. Without a sample of both nothing is compared, which proves nothing. Status, certificate and
// chain are those of the latest samples. Bodies are compared where each path gave the same one at least twice and no
// other; latencies where there are at least five of each.
func Compare(old, fresh []Sample, s Settings, now time.Time) []Difference {
	if len(old) == 0 || len(fresh) == 0 {
		return nil
	}
	a, b := old[len(old)-1].Answer, fresh[len(fresh)-1].Answer
	var out []Difference
	add := func(aspect v1alpha1.ProbeAspect, was, is string) {
		if was != is {
			out = append(out, Difference{Aspect: aspect, Old: was, New: is, MustMatch: mustMatch(s, aspect)})
		}
	}
	if a.Status != 0 && b.Status != 0 {
		add(v1alpha1.AspectStatus, statusClass(a.Status), statusClass(b.Status))
	}
	if a.TLS && b.TLS {
		add(v1alpha1.AspectCertificate, leafText(a, now), leafText(b, now))
		add(v1alpha1.AspectChain, hashText(a.Chain), hashText(b.Chain))
	}
	if x, y := stableBody(old), stableBody(fresh); x != "" && y != "" {
		add(v1alpha1.AspectBody, hashText(x), hashText(y))
	}
	if was, is, slow := slower(old, fresh, s); slow {
		add(v1alpha1.AspectLatency, was.String(), is.String())
	}
	return out
}

func mustMatch(s Settings, aspect v1alpha1.ProbeAspect) bool {
	if len(s.MustMatch) == 0 {
		return aspect == v1alpha1.AspectStatus || aspect == v1alpha1.AspectCertificate
	}
	return slices.Contains(s.MustMatch, aspect)
}

func statusClass(status int) string { return fmt.Sprintf("%dxx", status/100) }

func hashText(hash string) string { return fmt.Sprintf("sha256 %.16s", hash) }

// leafText says what two leaves have in common when one may stand for the other: names, and whether it is valid now. Names
// are a server's text.
func leafText(a Answer, now time.Time) string {
	valid := "a valid certificate"
	switch {
	case now.Before(a.Begins):
		valid = "a certificate that is not valid yet"
	case now.After(a.Expires):
		valid = "an expired certificate"
	}
	names := a.Names[:min(len(a.Names), mostLeafNames)]
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = addresspool.Quote(n)
	}
	// The hash covers what a sentence cannot hold.
	return fmt.Sprintf("%s for %d names (%s; sha256 %.16s)", valid, len(a.Names), strings.Join(quoted, ", "),
		digest([]byte(strings.Join(a.Names, "\n"))))
}

// stableBody is the hash that every sample of a path has in common, or "".
func stableBody(samples []Sample) string {
	first := samples[0].Body
	for _, s := range samples {
		if s.Body != first {
			return ""
		}
	}
	if len(samples) < 2 {
		return ""
	}
	return first
}

// slower tells whether the new path takes longer than the policy allows.
func slower(old, fresh []Sample, s Settings) (was, is time.Duration, slow bool) {
	if len(old) < leastLatencies || len(fresh) < leastLatencies {
		return 0, 0, false
	}
	was, is = Percentile95(old), Percentile95(fresh)
	limit := was * time.Duration(cmp.Or(s.LatencyPercent, defaultLatencyPercent)) / 100
	return was.Round(time.Millisecond), is.Round(time.Millisecond), is > limit && is-was > latencyFloor
}

// Percentile95 is the time that 95 of 100 samples do not exceed (nearest rank); 0 without a sample.
func Percentile95(samples []Sample) time.Duration {
	if len(samples) == 0 {
		return 0
	}
	took := make([]time.Duration, len(samples))
	for i, s := range samples {
		took[i] = s.Took
	}
	slices.Sort(took)
	return took[(len(took)*95+99)/100-1]
}
