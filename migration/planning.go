package migration

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/dnsctl"
	"offramp.dev/gateway"
	"offramp.dev/inventory"
)

// PlanInput is what a plan is made from. MakePlan changes nothing of it.
type PlanInput struct {
	EntryPoint *v1alpha1.EntryPoint
	Policy     *v1alpha1.MigrationPolicy
	// Services are the members as they were before the walk (see Before).
	Services []*corev1.Service
	// Strategy and Why as the inventory chose or the human asked.
	Strategy v1alpha1.Strategy
	Why      string
	// Names that point at an old address now (before the walk: live; later: the snapshot's), without New and LowTTL.
	Names []dnsctl.Name
	Pools []addresspool.Pool
	// Ledger and uses; rows and uses of this entry point itself are ignored as conflicts.
	Ledger []addresspool.Claim
	Uses   []addresspool.Use
	// Profile and ControllerName of the policy's GatewayClass.
	Profile         gateway.Profile
	TCPRouteVersion string
	// StaticAddresses are the ingress addresses of the policy's static Service (spec.gateway.staticService). They are the
	// new addresses where the profile binds by StaticService, and unused otherwise.
	StaticAddresses []netip.Addr
	// LoadBalancerClass that MetalLB was started with; "" where it serves Services without a class.
	LoadBalancerClass string
	// ProxyMode of kube-proxy, "" where it is not known.
	ProxyMode v1alpha1.ProxyMode
	// Frozen is the youngest recorded plan, if any: its addresses are kept.
	Frozen *Plan
}

// planner makes one plan in phases; a phase that blocks is the last one, so that no finding follows from another.
type planner struct {
	PlanInput
	findings []v1alpha1.Finding
	plan     *Plan
	// members are Services, once each, in order; carried their old addresses.
	members []*corev1.Service
	carried map[string][]netip.Addr
	// accepted are the names that point at an old address.
	accepted []dnsctl.Name
}

// MakePlan makes the plan, or says in findings (Block) why it cannot: then there is none. Findings that ask or inform
// come beside a plan. It is a function of its input alone: the same input gives the same hash.
func MakePlan(in PlanInput) (*Plan, []v1alpha1.Finding) {
	p := &planner{PlanInput: in, carried: map[string][]netip.Addr{}}
	phases := [][]func(){
		{p.checkObjects},
		{p.begin, p.takeMembers, p.checkPolicy, p.takeOldAddresses, p.checkNames},
		{p.checkStrategy},
		{p.takeNewAddresses},
		{p.takeNames, p.takeObjects},
		{p.takeClaims, p.takeChecks},
		{p.checkSize},
	}
	for _, phase := range phases {
		for _, step := range phase {
			step()
		}
		if p.blocked() {
			return nil, p.findings
		}
	}
	return p.plan, p.findings
}

func (p *planner) begin() {
	p.plan = &Plan{
		EntryPoint: p.EntryPoint.Name, Policy: p.Policy.Name, Strategy: p.Strategy, Why: p.Why,
		NewAddresses: []netip.Addr{}, Checks: []Check{}, Settings: SettingsFrom(p.Policy),
	}
	p.plan.Settings.GatewayClass = ""
	if p.Strategy == v1alpha1.StrategyGateway && p.Policy.Spec.Gateway != nil {
		p.plan.Settings.GatewayClass = p.Policy.Spec.Gateway.ClassName
		p.plan.Settings.GatewayController = p.Profile.ControllerName
	}
}

// takeNames takes the names that point at an old address: Old are the members that leave, New those of the same
// families that come.
func (p *planner) takeNames() {
	if p.Strategy == v1alpha1.StrategyAdopt {
		return // The address stays, so does every name.
	}
	for _, n := range p.accepted {
		for _, a := range p.plan.NewAddresses {
			if slices.ContainsFunc(n.Old, func(o netip.Addr) bool { return o.Is4() == a.Is4() }) {
				n.New = append(n.New, a)
			}
		}
		if err := n.Validate(); err != nil {
			p.block(FindingNameCannotMove, "Name "+n.Name, sentence(err.Error()),
				"correct the record, or take the name out of the annotation "+v1alpha1.AnnotationHostnames)
			continue
		}
		p.plan.Names = append(p.plan.Names, n)
	}
	if len(p.plan.Names) == 0 && !p.blocked() {
		p.ask(inventory.ReasonNoName, "EntryPoint "+p.EntryPoint.Name,
			"No name that the policy's zones allow leads to the old addresses, so nothing moves the clients to the new one.",
			"choose spec.strategy Adopt, add a zone and the annotation "+v1alpha1.AnnotationHostnames+", or waive the gate Eligible")
	}
}

// takeObjects converts the members into the target objects.
func (p *planner) takeObjects() {
	if p.Strategy == v1alpha1.StrategyAdopt {
		p.plan.Notes = append(p.plan.Notes, fmt.Sprintf(
			"Service spec.loadBalancerClass: %s stays for as long as the Service is of type LoadBalancer", v1alpha1.ClassAdopted))
		return
	}
	out := gateway.Convert(gateway.Input{
		EntryPoint: p.EntryPoint.Name, Strategy: p.Strategy, Services: p.members, Addresses: slices.Clone(p.plan.NewAddresses),
		Hostnames: p.hostnames(), Settings: p.Policy.Spec.Gateway, Profile: p.Profile,
		LoadBalancerClass: p.LoadBalancerClass, TCPRouteVersion: p.TCPRouteVersion,
	})
	p.findings = append(p.findings, out.Findings...)
	p.plan.Notes = append(p.plan.Notes, out.Notes...)
	for _, o := range out.Objects {
		text, err := json.Marshal(o.Object)
		if err != nil {
			p.block(FindingPlanTooLarge, o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName(), sentence(err.Error()), "report this as a bug")
			continue
		}
		p.plan.Objects = append(p.plan.Objects, text)
	}
}

// hostnames of the accepted names and of their aliases, in order: clients ask for either.
func (p *planner) hostnames() []string {
	var out []string
	for _, n := range p.accepted {
		out = append(out, n.Name)
		out = append(out, n.Aliases...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// checkSize refuses what the record, one object of the API, could not hold beside a journal and further attempts.
func (p *planner) checkSize() {
	p.fits("plan", p.plan)
	p.fits("snapshot", TakeSnapshot(p.members, p.plan.Names, time.Time{}))
}

func (p *planner) fits(what string, v any) {
	doc, err := EncodeDocument(v)
	switch {
	case err != nil:
		p.block(FindingPlanTooLarge, "EntryPoint "+p.EntryPoint.Name, sentence("the "+what+" cannot be stored: "+err.Error()),
			"correct the field that the message names")
	case len(doc.JSON) > mostDocumentBytes:
		p.block(FindingPlanTooLarge, "EntryPoint "+p.EntryPoint.Name,
			fmt.Sprintf("The %s has %d bytes, a record holds at most %d of it.", what, len(doc.JSON), mostDocumentBytes),
			"split the entry point with spec.members, or shorten annotations and selectors")
	}
}

// Targets decodes the plan's objects, in the order in which they are applied.
func (p *Plan) Targets() ([]*unstructured.Unstructured, error) {
	out := make([]*unstructured.Unstructured, 0, len(p.Objects))
	for i, text := range p.Objects {
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(text); err != nil {
			return nil, fmt.Errorf("objects[%d] of the plan of %s: %w", i, p.EntryPoint, err)
		}
		out = append(out, o)
	}
	return out, nil
}
