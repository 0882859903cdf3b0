package migration

import (
	"cmp"
	"slices"

	"offramp.dev/api/v1alpha1"
)

// The documented defaults of a policy, in seconds where they are times.
const (
	defaultLowTTL        = 30
	defaultStepSoak      = 300
	defaultSoak          = 600
	defaultDrainWindow   = 3600
	defaultRounds        = 3
	defaultProbeInterval = 10
	defaultProbeTimeout  = 5
	defaultRecheck       = 3600
	defaultHTTPPath      = "/"
)

// SettingsFrom are the policy's numbers, in seconds, with the documented defaults where the policy says nothing. A zero
// is kept where it means "no wait"; where it would mean "never look" or "no evidence", it counts as absent, as do
// negative numbers. The controller of the GatewayClass is not known to a policy; MakePlan fills it in.
func SettingsFrom(p *v1alpha1.MigrationPolicy) Settings {
	if p == nil {
		p = &v1alpha1.MigrationPolicy{}
	}
	s := Settings{
		LowTTL: positive(p.Spec.DNS.LowTTLSeconds, defaultLowTTL), StepSoak: orDefault(p.Spec.DNS.SoakSeconds, defaultStepSoak),
		Percents: slices.Clone(p.Spec.DNS.SharePercents), Soak: orDefault(p.Spec.SoakSeconds, defaultSoak),
		DrainWindow: orDefault(p.Spec.Drain.WindowSeconds, defaultDrainWindow),
		MaxLifetime: orDefault(p.Spec.Drain.MaxConnectionLifetimeSeconds, 0),
		Attraction:  cmp.Or(p.Spec.Drain.Attraction, v1alpha1.AttractionUnknown),
		Rounds:      rounds(p.Spec.Probes.Rounds),
		Recheck:     positive(p.Spec.RecheckSeconds, defaultRecheck), OnFailure: cmp.Or(p.Spec.OnFailure, v1alpha1.OnFailureShiftBack),
		ProbeInterval: positive(p.Spec.Probes.IntervalSeconds, defaultProbeInterval),
		ProbeTimeout:  positive(p.Spec.Probes.TimeoutSeconds, defaultProbeTimeout), Vantages: slices.Clone(p.Spec.Probes.Vantages),
	}
	// Left out where the policy says nothing: the default is no part of the plan's hash.
	s.MustMatch = slices.Clone(p.Spec.Probes.MustMatch)
	if l := p.Spec.Probes.LatencyPercent; l != nil {
		s.LatencyPercent = *l
	}
	if len(s.Percents) == 0 {
		s.Percents = []int32{50, 100}
	}
	if len(s.Vantages) == 0 {
		s.Vantages = []v1alpha1.Vantage{v1alpha1.VantagePod}
	}
	if p.Spec.Gateway != nil {
		s.GatewayClass = p.Spec.Gateway.ClassName
	}
	return s
}

func orDefault(v *int32, absent int64) int64 {
	if v == nil || *v < 0 {
		return absent
	}
	return int64(*v)
}

func positive(v *int32, absent int64) int64 {
	if n := orDefault(v, absent); n > 0 {
		return n
	}
	return absent
}

func rounds(v *int32) int32 {
	if v == nil || *v < 1 {
		return defaultRounds
	}
	return *v
}
