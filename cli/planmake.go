package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1 "k8s.io/api/core/v1"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/gateway"
	"offramp.dev/inventory"
	"offramp.dev/migration"
)

// clusterPlan reads what the controller planned, and once the walk is recorded the frozen plan itself.
func clusterPlan(ctx context.Context, c client.Reader, name string) (*planReport, error) {
	e, err := find(ctx, c, name)
	if err != nil {
		return nil, err
	}
	s := e.Status
	p := &planReport{
		Name: e.Name, Source: "Status", Strategy: s.Strategy, Why: s.StrategyReason, Services: members(e), Ports: s.Ports,
		Addresses: s.Addresses, NewAddresses: s.NewAddresses, Names: s.Names, Lost: s.Notes, Findings: reportFindings(s.Findings),
		PlanHash: s.PlanHash, ApprovedPlan: e.Spec.ApprovedPlan,
	}
	if s.Record == "" {
		return p.unrecorded(ctx, c, e)
	}
	record, unread := recordNamed(ctx, c, s.Record)
	if unread != "" {
		p.Unknown = append(p.Unknown, "the recorded plan: "+unread)
		return p.complete(), nil
	}
	return p.recorded(ctx, c, record)
}

// liveMembers are the Services themselves; one that cannot be read is told.
func (p *planReport) liveMembers(ctx context.Context, c client.Reader, list []string) []*corev1.Service {
	var out []*corev1.Service
	for _, key := range list {
		namespace, name, _ := strings.Cut(key, "/")
		svc := &corev1.Service{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, svc); err != nil {
			p.Unknown = append(p.Unknown, "the edits of Service "+key+": "+err.Error())
			continue
		}
		out = append(out, svc)
	}
	return out
}

// edits lists what is changed in the members: how they are adopted, where they are, and that they lose the field.
func (p *planReport) edits(services []*corev1.Service, plan *migration.Plan) {
	if p.Strategy == v1alpha1.StrategyNone {
		return
	}
	for _, s := range services {
		if adopt, ok := adoptPatch(s, plan); ok && p.Strategy == v1alpha1.StrategyAdopt {
			p.Patches = append(p.Patches, adopt)
		}
		if len(s.Spec.ExternalIPs) > 0 {
			p.Patches = append(p.Patches, releasePatch(s))
		}
	}
}

// recordNamed is the record, or why it cannot be read: that is something to tell, and ends nothing.
func recordNamed(ctx context.Context, c client.Reader, name string) (record *v1alpha1.MigrationRecord, unread string) {
	record = &v1alpha1.MigrationRecord{}
	if err := c.Get(ctx, client.ObjectKey{Name: name}, record); err != nil {
		return nil, err.Error()
	}
	return record, ""
}

// unrecorded knows the waits from the policy; the objects are made when the plan is recorded.
func (p *planReport) unrecorded(ctx context.Context, c client.Reader, e *v1alpha1.EntryPoint) (*planReport, error) {
	name := e.Spec.Policy
	p.Unknown = append(p.Unknown, "the target objects and the steps of names, until the plan is recorded (goal Stage)")
	services := p.liveMembers(ctx, c, p.Services)
	p.edits(services, membersOnly(services))
	var policy v1alpha1.MigrationPolicy
	err := c.Get(ctx, client.ObjectKey{Name: name}, &policy)
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsForbidden(err):
		p.Unknown = append(p.Unknown, "the waits, because MigrationPolicy "+name+" cannot be read")
	case err != nil:
		return nil, fmt.Errorf("reading MigrationPolicy %s: %w", name, err)
	default:
		p.waits(migration.SettingsFrom(&policy), 0)
	}
	return p.complete(), nil
}

func (p *planReport) recorded(ctx context.Context, c client.Reader, record *v1alpha1.MigrationRecord) (*planReport, error) {
	p.Source = "Record"
	if len(record.Spec.Plans) == 0 {
		p.Unknown = append(p.Unknown, "the recorded plan: MigrationRecord "+record.Name+" holds none any more")
		return p.complete(), nil
	}
	var plan migration.Plan
	document := record.Spec.Plans[len(record.Spec.Plans)-1].Plan
	if err := migration.DecodeDocument(document, &plan); err != nil {
		return nil, fmt.Errorf("plan in MigrationRecord %s: %w", record.Name, err)
	}
	if p.PlanHash != document.SHA256 {
		p.Unknown = append(p.Unknown, "whether the recorded plan still holds: the status names plan "+orText(p.PlanHash, "(none)"))
	}
	p.Document, p.PlanHash = &document, document.SHA256
	for _, raw := range plan.Objects {
		if o, ok := objectOf(raw); ok {
			p.Objects = append(p.Objects, o)
		}
	}
	p.Strategy, p.Why, p.Lost = plan.Strategy, plan.Why, plan.Notes
	p.waits(plan.Settings, largestTTL(&plan))
	p.names(&plan, zoneReader(ctx, c))
	p.edits(p.liveMembers(ctx, c, p.Services), &plan)
	return p.complete(), nil
}

// membersOnly is as much of a plan as the patch needs that adopts a Service.
func membersOnly(services []*corev1.Service) *migration.Plan {
	plan := &migration.Plan{}
	for _, s := range services {
		plan.Members = append(plan.Members, migration.Member{Namespace: s.Namespace, Name: s.Name, UID: string(s.UID)})
	}
	return plan
}

// zoneReader finds DNSZones; the second answer says why one cannot be read.
func zoneReader(ctx context.Context, c client.Reader) func(string) (v1alpha1.DNSZoneSpec, string) {
	return func(name string) (v1alpha1.DNSZoneSpec, string) {
		var zone v1alpha1.DNSZone
		if err := c.Get(ctx, client.ObjectKey{Name: name}, &zone); err != nil {
			return v1alpha1.DNSZoneSpec{}, err.Error()
		}
		return zone.Spec, ""
	}
}

func objectOf(raw json.RawMessage) (planObject, bool) {
	var o struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct{ Namespace, Name string }
	}
	if json.Unmarshal(raw, &o) != nil {
		return planObject{}, false
	}
	return planObject{o.APIVersion, o.Kind, o.Metadata.Namespace, o.Metadata.Name, raw}, true
}

// largestTTL of the names as they were: so long old answers may be remembered.
func largestTTL(plan *migration.Plan) int64 {
	var most uint32
	for _, n := range plan.Names {
		most = max(most, n.Snapshot.A.TTL, n.Snapshot.AAAA.TTL)
	}
	return int64(most)
}

// waits lists what must pass by the clock, whatever else is ready. ttl is the names' own, 0 where it is not known.
func (p *planReport) waits(s migration.Settings, ttl int64) {
	if p.Strategy == v1alpha1.StrategyNone {
		return
	}
	p.wait("Proven", fmt.Sprintf("%d good rounds of probes", s.Rounds), int64(s.Rounds)*s.ProbeInterval)
	if p.Strategy != v1alpha1.StrategyAdopt {
		p.wait("TTLLowered", "old answers to be forgotten (the names' own TTL)", ttl)
		if ttl == 0 {
			p.Unknown = append(p.Unknown, "the names' own TTL, which must pass once more")
		}
		for _, percent := range s.Percents {
			p.wait("Shifted", fmt.Sprintf("soaking at %d %%", percent), s.StepSoak)
		}
		p.wait("Settled", "the low TTL after the last step", s.LowTTL)
		p.wait("Drained", "no new connection on the old path", s.DrainWindow)
	}
	p.wait("Soaked", "the new path alone", s.Soak)
}

// filePlan is what the same code would choose, from files alone.
func filePlan(c *collection, name string) (*planReport, error) {
	catalog := c.take()
	at := slices.IndexFunc(catalog.EntryPoints, func(e inventory.EntryPoint) bool {
		return e.Name == name || slices.Contains(e.Services, name)
	})
	if at < 0 {
		return nil, fmt.Errorf("no entry point %q in the input; inventory lists them, and namespace/service works too", name)
	}
	e := catalog.EntryPoints[at]
	p := &planReport{
		Name: e.Name, Source: "Files", Strategy: e.Strategy, Why: e.Why, Services: e.Services, Ports: e.Ports, Addresses: e.Addresses,
		Names: e.Names, Findings: reportFindings(e.Findings),
		Unknown: []string{
			"which names live DNS really answers with the old addresses", "the plan hash: a controller makes the plan that is approved",
		},
	}
	policy := policyOf(c, e.Policy)
	if policy == nil {
		p.Unknown = append(p.Unknown, "the policy's numbers: no MigrationPolicy in the input is named by the Services, so the defaults are shown")
	}
	p.preview(c, e, policy)
	p.waits(migration.SettingsFrom(policy), 0)
	services := servicesOf(c, e)
	p.edits(services, membersOnly(services))
	return p.complete(), nil
}

func policyOf(c *collection, name string) *v1alpha1.MigrationPolicy {
	for _, policy := range c.Policies {
		if name != "" && policy.Name == name {
			return policy
		}
	}
	return nil
}

// preview converts as the controller would, with the old address in the new one's place: only the pool's owner knows
// which is free, and the objects' kinds and names do not depend on it.
func (p *planReport) preview(c *collection, e inventory.EntryPoint, policy *v1alpha1.MigrationPolicy) {
	switch e.Strategy {
	case v1alpha1.StrategyAdopt:
		p.NewAddresses = e.Addresses
		return
	case v1alpha1.StrategyNone:
		return
	case v1alpha1.StrategyGateway, v1alpha1.StrategyLoadBalancer:
		p.Unknown = append(p.Unknown, "the new address: it is claimed when the plan is made")
	}
	in := gateway.Input{
		EntryPoint: e.Name, Strategy: e.Strategy, Services: servicesOf(c, e), Addresses: onePerFamily(e.Addresses),
		Hostnames: e.Names, TCPRouteVersion: "v1",
	}
	if e.Strategy == v1alpha1.StrategyGateway && !p.profile(c, policy, &in) {
		return
	}
	out := gateway.Convert(in)
	for _, o := range out.Objects {
		if text, err := json.Marshal(o.Object); err == nil {
			p.Objects = append(p.Objects, planObject{o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName(), text})
		}
	}
	p.Lost = out.Notes
	p.Findings = append(p.Findings, reportFindings(out.Findings)...)
}

// profile fills in what the policy and its class say, and tells what is missing.
func (p *planReport) profile(c *collection, policy *v1alpha1.MigrationPolicy, in *gateway.Input) bool {
	if policy == nil || policy.Spec.Gateway == nil {
		p.Unknown = append(p.Unknown, "the target objects: they depend on spec.gateway of the MigrationPolicy")
		return false
	}
	in.Settings = policy.Spec.Gateway
	controller := ""
	for _, class := range c.GatewayClasses {
		if class.Name == in.Settings.ClassName {
			controller = string(class.Spec.ControllerName)
		}
	}
	profile, known := gateway.ProfileFor(controller, in.Settings)
	if !known {
		p.Unknown = append(p.Unknown,
			"the target objects: GatewayClass "+in.Settings.ClassName+" is not in the input, or its controller is not known")
	}
	in.Profile = profile
	return known
}

func servicesOf(c *collection, e inventory.EntryPoint) []*corev1.Service {
	var out []*corev1.Service
	for _, s := range c.Services {
		if slices.Contains(e.Services, s.Namespace+"/"+s.Name) {
			out = append(out, s)
		}
	}
	return out
}

func onePerFamily(addresses []string) []netip.Addr {
	var out []netip.Addr
	for _, text := range addresses {
		address, err := netip.ParseAddr(text)
		if err == nil && !slices.ContainsFunc(out, func(have netip.Addr) bool { return have.Is4() == address.Is4() }) {
			out = append(out, address)
		}
	}
	return out
}
