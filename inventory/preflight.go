package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// Release is a minor release of Kubernetes that somebody wants to upgrade to.
type Release struct {
	// Minor of 1.Minor.
	Minor uint
	// Rules is the release whose rules hold there: 1.36, 1.40, 1.43 or 1.46.
	Rules uint
}

// The releases that change something (KEP-5707). All but the first are the earliest possible ones.
const (
	releaseWarns  = 36
	releaseOff    = 40
	releaseGone   = 43
	releasePlugin = 46
)

// Releases that change something, as texts that ParseRelease takes.
func Releases() []string {
	return []string{text(releaseWarns), text(releaseOff), text(releaseGone), text(releasePlugin)}
}

func text(minor uint) string { return fmt.Sprintf("1.%d", minor) }

// ParseRelease reads "1.40", "v1.40" or "1.40.2-rc.1+vendor". A release between two that change something has the rules of
// the earlier one, one behind the last those of the last. Before 1.36 there is nothing to look ahead to, and that is an
// error, as is another major version.
func ParseRelease(target string) (Release, error) {
	v, err := version.ParseGeneric(target)
	if err != nil || len(v.Components()) < 2 {
		return Release{}, fmt.Errorf("%.40q is no release of Kubernetes; write it as 1.40, v1.40 or 1.40.2", target)
	}
	switch {
	case v.Major() != 1:
		return Release{}, fmt.Errorf("%.40q: nothing is known of Kubernetes %d; the rules are those of 1.36 and later", target, v.Major())
	case v.Minor() < releaseWarns:
		return Release{}, fmt.Errorf("%.40q: before 1.36 spec.externalIPs works without a warning; ask for 1.36 or later", target)
	}
	out := Release{Minor: v.Minor()}
	for _, minor := range []uint{releaseWarns, releaseOff, releaseGone, releasePlugin} {
		if v.Minor() >= minor {
			out.Rules = minor
		}
	}
	return out, nil
}

// String is "1.40".
func (r Release) String() string { return text(r.Minor) }

// Change says in one sentence what the release changes.
func (r Release) Change() string {
	switch r.Rules {
	case releaseWarns:
		return "1.36 deprecates the field: the API server warns at every write, traffic flows as before."
	case releaseOff:
		return "1.40, at the earliest, turns the feature gate AllowServiceExternalIPs of kube-proxy off by default."
	case releaseGone:
		return "1.43, at the earliest, locks the feature gate AllowServiceExternalIPs to false and removes kube-proxy's code."
	default:
		return "1.46, at the earliest, removes the feature gate AllowServiceExternalIPs and the admission plugin DenyServiceExternalIPs."
	}
}

// Effect says what a release means for one object.
type Effect string

// The effects. docs/preflight.md explains them; codes are stable.
const (
	// EffectWarns says that traffic flows and the API server warns.
	EffectWarns Effect = "FieldWarns"
	// EffectNeedsGate says that traffic stops unless a feature gate is set on every kube-proxy.
	EffectNeedsGate Effect = "FieldNeedsGate"
	// EffectStops says that traffic stops and nothing keeps it.
	EffectStops Effect = "FieldStops"
	// EffectUpToDatapath says that no kube-proxy serves the cluster, so that its implementation decides.
	EffectUpToDatapath Effect = "FieldUpToDatapath"
	// EffectDead says that the field carries no traffic already.
	EffectDead Effect = "FieldIsDead"
	// EffectUnreadable says that it cannot be told what the field asks for.
	EffectUnreadable Effect = "FieldUnreadable"
	// EffectGatewayUnknown says that it cannot be told whether a Gateway's addresses become the field.
	EffectGatewayUnknown Effect = "GatewayUnknown"
	// EffectGateRefused says that a component will not start with the feature gate as it is set.
	EffectGateRefused Effect = "GateRefused"
	// EffectPluginGone says that an API server will not start with the admission plugin that is asked for.
	EffectPluginGone Effect = "PluginGone"
	// EffectIPVSGoes says that kube-proxy's ipvs mode goes as well.
	EffectIPVSGoes Effect = "IPVSGoes"
	// EffectDatapathUnknown says that nothing tells what serves Services.
	EffectDatapathUnknown Effect = "DatapathUnknown"
)

// Level is how bad an effect is.
type Level string

// The levels.
const (
	LevelError   Level = "Error"
	LevelWarning Level = "Warning"
	LevelNote    Level = "Note"
)

// EffectDoc explains one effect.
type EffectDoc struct {
	Effect Effect
	Level  Level
	// Depends: something still depends on what the release takes away.
	Depends         bool
	Meaning, WayOut string
}

// Effects explains every effect, in the order of the page.
func Effects() []EffectDoc {
	return []EffectDoc{
		{EffectWarns, LevelWarning, true, "Traffic flows as before; the API server warns at every write.", "Plan the move: later releases stop it."},
		{
			EffectNeedsGate, LevelError, true,
			"kube-proxy stops serving the addresses unless the feature gate AllowServiceExternalIPs is true on every node. The Service still looks healthy.",
			"Move it before the upgrade. The gate is a respite until 1.43, no more.",
		},
		{
			EffectStops, LevelError, true, "kube-proxy serves the addresses no more, and nothing brings that back. The Service still looks healthy.",
			"Move it before the upgrade.",
		},
		{
			EffectUpToDatapath, LevelError, true, "No kube-proxy serves the cluster: its feature gate does not apply, and the network plugin's own release " +
				"decides. From 1.43 conformance asks every implementation to drop the field.",
			"Move it before you upgrade the network plugin to a release that drops the field.",
		},
		{EffectUnreadable, LevelError, true, "It cannot be told what the field asks for.", "Correct the value."},
		{
			EffectGatewayUnknown, LevelWarning, true, "A Gateway asks for addresses, and it cannot be told whether its implementation writes them into the field.",
			"Give the GatewayClass, or the Service that the implementation made.",
		},
		{EffectGateRefused, LevelError, true, "A component does not start with the feature gate AllowServiceExternalIPs as it is set.", "Take the setting out."},
		{
			EffectPluginGone, LevelError, true, "The API server does not start with an admission plugin that it does not know.",
			"Take DenyServiceExternalIPs out of its plugins; Offramp's guard does the same, with exceptions.",
		},
		{EffectIPVSGoes, LevelWarning, false, "kube-proxy's ipvs mode is off by default from 1.40 and gone in 1.43.", "Change to nftables mode in a step of its own."},
		{EffectDead, LevelNote, false, "The field carries no traffic already, and nothing changes.", "Remove it."},
		{
			EffectDatapathUnknown, LevelNote, false, "Nothing tells what serves Services; the dates of kube-proxy are shown.",
			"Give the ConfigMap of kube-proxy or of the network plugin, or look at the cluster.",
		},
	}
}

// Doc explains the effect.
func (e Effect) Doc() EffectDoc {
	all := Effects()
	if i := slices.IndexFunc(all, func(d EffectDoc) bool { return d.Effect == e }); i >= 0 {
		return all[i]
	}
	return EffectDoc{Effect: e, Level: LevelError, Depends: true}
}

// Consequence is what a release means for one object.
type Consequence struct {
	Effect Effect
	// Kind, Namespace and Name of the object; Field that asks for the addresses.
	Kind, Namespace, Name, Field string
	// EntryPoint that the object is a member of, or "".
	EntryPoint string
	// Addresses that are concerned, as far as they can be told.
	Addresses []string
	// Message says what happens, Fix what to do.
	Message, Fix string
}

// Object names it as findings do: "Service ns/name".
func (c Consequence) Object() string {
	if c.Namespace == "" {
		return c.Kind + " " + c.Name
	}
	return c.Kind + " " + c.Namespace + "/" + c.Name
}

// Level of the effect.
func (c Consequence) Level() Level { return c.Effect.Doc().Level }

// Depends tells whether something is lost with the release.
func (c Consequence) Depends() bool { return c.Effect.Doc().Depends }

// Outlook is what a release means for a catalog.
type Outlook struct {
	Release  Release
	Datapath Datapath
	// Consequences in order: what depends first, then by object and field.
	Consequences []Consequence
}

// Depends tells whether anything does.
func (o Outlook) Depends() bool { return slices.ContainsFunc(o.Consequences, Consequence.Depends) }

// Add puts further consequences in their place.
func (o *Outlook) Add(more ...Consequence) {
	o.Consequences = append(o.Consequences, more...)
	slices.SortStableFunc(o.Consequences, byWeight)
}

// LookAhead says what a release means for everything that asks for externalIPs: Services, objects that embed the field, and
// Gateways whose implementation writes it. catalog is what Take said about c. writers tells for each controller of a
// GatewayClass whether it turns spec.addresses into externalIPs; one that is not listed is unknown.
func LookAhead(c Cluster, catalog Catalog, r Release, writers map[string]bool) Outlook {
	a := &ahead{release: r, path: datapathOf(c), writers: writers, entryPoints: map[string]string{}}
	for _, e := range catalog.EntryPoints {
		for _, key := range e.Services {
			a.entryPoints[key] = e.Name
		}
	}
	services, _ := unique(c.Services)
	a.services(services)
	a.gateways(c, services)
	a.embedded(c.Others)
	a.components(c)
	out := Outlook{Release: r, Datapath: a.path}
	out.Add(a.out...)
	return out
}

func byWeight(x, y Consequence) int {
	return cmp.Or(cmp.Compare(weight(x), weight(y)), strings.Compare(x.Object(), y.Object()), strings.Compare(x.Field, y.Field),
		strings.Compare(string(x.Effect), string(y.Effect)))
}

func weight(c Consequence) int {
	levels := []Level{LevelError, LevelWarning, LevelNote}
	if c.Depends() {
		return slices.Index(levels, c.Level())
	}
	return len(levels) + slices.Index(levels, c.Level())
}
