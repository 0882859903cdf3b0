package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"offramp.dev/inventory"
	"offramp.dev/migration"
)

// planNeed is what somebody has to do or give before, or while, the walk is under way.
type planNeed struct {
	Who  string `json:"who"`
	What string `json:"what"`
}

// planPatch is one edit of a member. Whoever owns its manifest makes the same edit there.
type planPatch struct {
	Service string `json:"service"`
	// Gate that asks for it.
	Gate string `json:"gate"`
	// Type of the patch as kubectl names it: merge or json.
	Type  string          `json:"type"`
	Patch json.RawMessage `json:"patch"`
}

// Who has to act.
const (
	whoBalancer = "load balancer admin"
	whoDNS      = "DNS admin"
	whoManifest = "owner of the manifest"
	whoPolicy   = "platform admin"
	whoService  = "owner of the Service"
)

// whoFor tells who can do what a finding asks for.
func whoFor(reason string) string {
	switch reason {
	case inventory.ReasonPoolMissing, inventory.ReasonPoolUnusable, inventory.ReasonPoolTouchesReserved, inventory.ReasonPoolNotAnnounced,
		inventory.ReasonPoolAutoAssign, inventory.ReasonPoolUnreadable, inventory.ReasonNoEligibleAnnouncer, inventory.ReasonServiceLBActive:
		return whoBalancer
	case inventory.ReasonNameNotAllowed, inventory.ReasonExternalDNS, migration.FindingNameCannotMove:
		return whoDNS
	case inventory.ReasonPolicyMissing, inventory.ReasonPolicyForbidsNamespace, inventory.ReasonPolicyForbidsStrategy:
		return whoPolicy
	}
	if ownedElsewhere(reason) {
		return whoManifest
	}
	return whoService
}

// ownedElsewhere tells reasons that say that the edit belongs somewhere else than into the cluster.
func ownedElsewhere(reason string) bool {
	return slices.Contains([]string{
		inventory.ReasonOwnedByGateway, inventory.ReasonOwnedByController, inventory.ReasonOwnedByOpenShift, inventory.ReasonFieldInjected,
		inventory.ReasonOwnedByGitOps, inventory.ReasonOwnedByHelm, inventory.ReasonAppliedFromFile,
	}, reason)
}

// needs gathers what is asked of whom: by findings, by the target objects, and by the approval.
func (p *planReport) needs() {
	for _, f := range p.Findings {
		if f.Fix != "" && (stands(f) || ownedElsewhere(f.Reason)) {
			p.need(whoFor(f.Reason), f.Fix+" ("+f.Reason+": "+f.Object+")")
		}
	}
	for _, o := range p.Objects {
		p.objectNeeds(o.Manifest)
	}
	if p.PlanHash != "" && p.ApprovedPlan != p.PlanHash {
		p.need("whoever may advance EntryPoints", "approve plan "+p.PlanHash)
	}
}

func (p *planReport) need(who, what string) {
	if n := (planNeed{who, what}); !slices.Contains(p.Needs, n) {
		p.Needs = append(p.Needs, n)
	}
}

// objectNeeds reads what a target object refers to and the plan does not make: certificates, and grants across namespaces.
func (p *planReport) objectNeeds(manifest json.RawMessage) {
	o := &unstructured.Unstructured{}
	if o.UnmarshalJSON(manifest) != nil {
		return
	}
	for _, l := range objectsAt(o.Object, "spec", "listeners") {
		for _, ref := range objectsAt(l, "tls", "certificateRefs") {
			p.need(whoPolicy, "certificate: "+refText(ref, "Secret", o)+" for listener "+textAt(l, "name")+grantText(ref, o))
		}
	}
	for _, rule := range objectsAt(o.Object, "spec", "rules") {
		for _, ref := range objectsAt(rule, "backendRefs") {
			if grant := grantText(ref, o); grant != "" {
				p.need(whoService, refText(ref, "Service", o)+grant)
			}
		}
	}
}

// objectsAt are the objects of the list at a path, if there is one.
func objectsAt(from map[string]any, path ...string) []map[string]any {
	list, _, _ := unstructured.NestedSlice(from, path...)
	out := make([]map[string]any, 0, len(list))
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func textAt(from map[string]any, key string) string {
	text, _, _ := unstructured.NestedString(from, key)
	return text
}

func refText(ref map[string]any, kind string, o *unstructured.Unstructured) string {
	return orText(textAt(ref, "kind"), kind) + " " + orText(textAt(ref, "namespace"), o.GetNamespace()) + "/" + textAt(ref, "name")
}

// grantText asks for a ReferenceGrant where a reference leaves its namespace.
func grantText(ref map[string]any, o *unstructured.Unstructured) string {
	if ns := textAt(ref, "namespace"); ns != "" && ns != o.GetNamespace() {
		return fmt.Sprintf(", with a ReferenceGrant in namespace %s for %s of namespace %s", ns, o.GetKind(), o.GetNamespace())
	}
	return ""
}

// releasePatch takes the field out of a manifest. The traffic policy goes along where only the field made it legal: the API
// server refuses a ClusterIP Service with the policy alone.
func releasePatch(s *corev1.Service) planPatch {
	spec := map[string]any{"externalIPs": nil}
	if s.Spec.ExternalTrafficPolicy != "" && (s.Spec.Type == "" || s.Spec.Type == corev1.ServiceTypeClusterIP) {
		spec["externalTrafficPolicy"] = nil
	}
	text, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		text = []byte("{}") // A map of texts and nil always has a JSON.
	}
	return planPatch{s.Namespace + "/" + s.Name, string(migration.GateReleased), "merge", text}
}

// adoptPatch is the patch with which the controller adopts a member, without the version that only it can know.
func adoptPatch(s *corev1.Service, plan *migration.Plan) (planPatch, bool) {
	ops := slices.DeleteFunc(migration.AdoptPatch(s, plan), func(op migration.PatchOp) bool { return op.Path == "/metadata/resourceVersion" })
	text, err := json.Marshal(ops)
	if err != nil || len(ops) == 0 {
		return planPatch{}, false
	}
	return planPatch{s.Namespace + "/" + s.Name, string(migration.GateStaged), "json", text}, true
}

// command is the patch as a command line. JSON has no single quote but inside of texts, where it can be escaped.
func (p planPatch) command() string {
	namespace, name, _ := strings.Cut(p.Service, "/")
	return "kubectl patch service " + name + " -n " + namespace + " --type=" + p.Type + " -p '" +
		strings.ReplaceAll(string(p.Patch), "'", `\u0027`) + "'"
}

func needsText(p *planReport) string {
	if len(p.Needs) == 0 {
		return ""
	}
	t := newTable("WHO", "WHAT")
	for _, n := range p.Needs {
		t.row(n.Who, n.What)
	}
	return "\nNeeded\n" + t.indented()
}

func patchesText(p *planReport) string {
	if len(p.Patches) == 0 {
		return ""
	}
	t := newTable("SERVICE", "AT GATE", "PATCH ("+patchTypes(p)+")")
	for _, e := range p.Patches {
		t.row(e.Service, e.Gate, string(e.Patch))
	}
	return "\nEdits of Services" + byOwner(p) + "\n" + t.indented()
}

// byOwner says who makes the edits.
func byOwner(p *planReport) string {
	if slices.ContainsFunc(p.Findings, func(f reportFinding) bool { return ownedElsewhere(f.Reason) }) {
		return ", to be made where the manifest is kept"
	}
	return ""
}

func patchTypes(p *planReport) string {
	var types []string
	for _, e := range p.Patches {
		if !slices.Contains(types, e.Type) {
			types = append(types, e.Type)
		}
	}
	return strings.Join(types, ", ")
}
