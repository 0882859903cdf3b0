package celtest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/yaml"

	"offramp.dev/config"
)

var (
	controller = &user.DefaultInfo{Name: "system:serviceaccount:offramp-system:offramp-controller"}
	tenant     = &user.DefaultInfo{Name: "alice", Groups: []string{"shop"}}
	admin      = &user.DefaultInfo{Name: "kubernetes-admin", Groups: []string{"system:masters"}}
	metallb    = &user.DefaultInfo{
		Name: "system:serviceaccount:metallb-system:controller", Groups: []string{"system:serviceaccounts:metallb-system"},
	}
	collector = &user.DefaultInfo{
		Name: "system:serviceaccount:kube-system:generic-garbage-collector", Groups: []string{"system:serviceaccounts:kube-system"},
	}
	cloud = &user.DefaultInfo{Name: "system:serviceaccount:cloud:lb", Groups: []string{"system:serviceaccounts:cloud"}}
)

func agentOf(node string) user.Info {
	u := &user.DefaultInfo{Name: "system:serviceaccount:offramp-agent:offramp-agent"}
	if node != "" {
		u.Extra = map[string][]string{"authentication.kubernetes.io/node-name": {node}}
	}
	return u
}

// ledger is the parameter object of the tests: 203.0.113.10 is held by shop/web, 2001:db8::50 by anyone in edge, and
// 192.0.0.8 by nobody.
func ledger() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		Data:     map[string]string{"203.0.113.10": "shop/old shop/web", "2001-db8--50": "edge/*", "192.0.0.8": "", "2001-db8--0": "shop/web"},
	}
}

// a policyCase names the objects in YAML, so that a case reads like the request it is.
type policyCase struct {
	policy      string
	subresource string
	operation   admission.Operation
	user        user.Info
	verbs       []string
	old, object string
	noParams    bool
	// want is a part of the message; "" is an admission, "-" means that the match conditions pass the request by.
	want string
}

func service(name, more string) string {
	return "{apiVersion: v1, kind: Service, metadata: {name: " + name + ", namespace: shop" + more + "}"
}

func TestEachPolicyRefusesWhatItIsForAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, group := range []map[string]policyCase{claimedCases(), adoptedCases(), ownCases(), ratchetCases()} {
		for name, c := range group {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c.check(t)
			})
		}
	}
}

func (c policyCase) check(t *testing.T) {
	t.Helper()
	policy, _ := policyNamed(t, c.policy)
	r := Request{
		Subresource: c.subresource, Operation: c.operation, User: c.user, Verbs: c.verbs,
		Object: tree(t, c.object), Old: tree(t, c.old),
	}
	r.Resource = strings.ToLower(fmt.Sprint(firstOf(r.Object, r.Old)["kind"])) + "s"
	if policy.Spec.ParamKind != nil && !c.noParams {
		r.Params = ledger()
	}
	answer, err := Evaluate(policy, r)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(answer.Refusals, "; ")
	switch {
	case c.want == "-" && answer.Matched:
		t.Errorf("the match conditions let it through to the rules, which answered %q", got)
	case c.want != "-" && !answer.Matched:
		t.Error("the match conditions pass the request by")
	case c.want == "" && got != "":
		t.Errorf("refused: %s", got)
	case c.want != "" && c.want != "-" && !strings.Contains(got, c.want):
		t.Errorf("got %q, want a message with %q", got, c.want)
	}
	for _, reason := range answer.Reasons {
		if reason != metav1.StatusReasonForbidden {
			t.Errorf("reason is %s, want Forbidden", reason)
		}
	}
}

func firstOf(a, b map[string]any) map[string]any {
	if a != nil {
		return a
	}
	return b
}

func tree(t *testing.T, text string) map[string]any {
	t.Helper()
	if text == "" {
		return nil
	}
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	var out map[string]any
	if err := utiljson.Unmarshal(asJSON, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// policies are all policies of config/guard with their bindings, by name.
func policies(t *testing.T) (map[string]*admissionv1.ValidatingAdmissionPolicy, map[string]*admissionv1.ValidatingAdmissionPolicyBinding) {
	t.Helper()
	found := map[string]*admissionv1.ValidatingAdmissionPolicy{}
	bindings := map[string]*admissionv1.ValidatingAdmissionPolicyBinding{}
	files, err := config.Files.ReadDir("guard")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := config.Files.ReadFile("guard/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range bytes.Split(text, []byte("\n---\n")) {
			var p admissionv1.ValidatingAdmissionPolicy
			var b admissionv1.ValidatingAdmissionPolicyBinding
			switch {
			case yaml.UnmarshalStrict(doc, &p) == nil && p.Kind == "ValidatingAdmissionPolicy":
				found[p.Name] = &p
			case yaml.UnmarshalStrict(doc, &b) == nil && b.Kind == "ValidatingAdmissionPolicyBinding":
				bindings[b.Spec.PolicyName] = &b
			case bytes.Contains(doc, []byte("ValidatingAdmissionPolicy")):
				if f.Name() != "kustomization.yaml" {
					t.Errorf("guard/%s does not parse strictly", f.Name())
				}
			}
		}
	}
	return found, bindings
}

func policyNamed(t *testing.T, name string) (*admissionv1.ValidatingAdmissionPolicy, *admissionv1.ValidatingAdmissionPolicyBinding) {
	t.Helper()
	found, bindings := policies(t)
	p, ok := found[name+".offramp.dev"]
	if !ok {
		t.Fatalf("no policy %s.offramp.dev among %v", name, slices.Sorted(maps.Keys(found)))
	}
	return p, bindings[p.Name]
}

func TestEveryPolicyIsBoundAndOnlyTheGeneralOneAudits(t *testing.T) {
	t.Parallel()
	found, bindings := policies(t)
	if len(found) != 10 {
		t.Errorf("found %d policies, want 10: %v", len(found), slices.Sorted(maps.Keys(found)))
	}
	for name, p := range found {
		b := bindings[name]
		if b == nil {
			t.Errorf("policy %s has no binding", name)
			continue
		}
		if denies := slices.Contains(b.Spec.ValidationActions, admissionv1.Deny); denies == (name == "external-ips.offramp.dev") {
			t.Errorf("binding of %s: actions are %v", name, b.Spec.ValidationActions)
		}
		if (p.Spec.ParamKind == nil) != (b.Spec.ParamRef == nil) {
			t.Errorf("policy %s and its binding do not agree about parameters", name)
		}
		if *p.Spec.FailurePolicy != admissionv1.Fail {
			t.Errorf("policy %s does not fail closed", name)
		}
	}
}

var _ runtime.Object = ledger()
