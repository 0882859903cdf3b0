// Package celtest evaluates the product's CEL with the API server's own evaluators: the rules of the CRDs and the
// admission policies. It is a module of its own because those evaluators are heavy.
package celtest

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"
)

// Request is one request as admission sees it.
type Request struct {
	Resource, Subresource string
	Operation             admission.Operation
	Object, Old           map[string]any
	User                  user.Info
	// Verbs that the user has on every entry point.
	Verbs []string
	// Params is the parameter object; nil: the policy takes none.
	Params runtime.Object
}

// Answer is what one policy says.
type Answer struct {
	// Matched is false where the match conditions passed the request by.
	Matched bool
	// Refusals are the messages; Reasons stand beside them.
	Refusals []string
	Reasons  []metav1.StatusReason
}

// Evaluate compiles the policy and lets it judge the request. An expression that fails is an error.
func Evaluate(policy *admissionv1.ValidatingAdmissionPolicy, r Request) (Answer, error) {
	validator, err := compile(policy)
	if err != nil {
		return Answer{}, err
	}
	attributes := r.attributes()
	result := validator.Validate(context.Background(), attributes.GetResource(), attributes, r.Params, nil,
		celconfig.RuntimeCELCostBudget, verbs(r.Verbs))
	answer := Answer{Matched: result.Decisions != nil}
	for _, d := range result.Decisions {
		if d.Evaluation == validating.EvalError {
			return answer, fmt.Errorf("policy %s: %s", policy.Name, d.Message)
		}
		if d.Action == validating.ActionDeny {
			answer.Refusals, answer.Reasons = append(answer.Refusals, d.Message), append(answer.Reasons, d.Reason)
		}
	}
	for _, a := range result.AuditAnnotations {
		if a.Error != "" {
			return answer, fmt.Errorf("policy %s: %s", policy.Name, a.Error)
		}
	}
	return answer, nil
}

func (r Request) attributes() *admission.VersionedAttributes {
	kind := schema.GroupVersionKind{Version: "v1", Kind: "Service"}
	any := r.Object
	if any == nil {
		any = r.Old
	}
	u := unstructured.Unstructured{Object: any}
	kind = u.GroupVersionKind()
	resource := schema.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: r.Resource}
	out := &admission.VersionedAttributes{
		Attributes: admission.NewAttributesRecord(object(r.Object), object(r.Old), kind, u.GetNamespace(), u.GetName(),
			resource, r.Subresource, r.Operation, nil, false, r.User),
		VersionedKind: kind,
	}
	out.VersionedObject.Set(object(r.Object))
	out.VersionedOldObject.Set(object(r.Old))
	return out
}

func object(m map[string]any) runtime.Object {
	if m == nil {
		return nil
	}
	return &unstructured.Unstructured{Object: m}
}

// verbs authorizes these verbs and no others.
type verbs []string

// Authorize says yes to the listed verbs.
func (v verbs) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	for _, verb := range v {
		if verb == a.GetVerb() && a.GetAPIGroup() == "offramp.dev" && a.GetResource() == "entrypoints" {
			return authorizer.DecisionAllow, "", nil
		}
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// compile does what the API server does when a policy is created.
func compile(p *admissionv1.ValidatingAdmissionPolicy) (validating.Validator, error) {
	compiler, err := plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		return nil, err
	}
	with := plugincel.OptionalVariableDeclarations{HasParams: p.Spec.ParamKind != nil, HasAuthorizer: true}
	messages := plugincel.OptionalVariableDeclarations{HasParams: p.Spec.ParamKind != nil}
	var variables []plugincel.NamedExpressionAccessor
	for _, v := range p.Spec.Variables {
		variables = append(variables, &validating.Variable{Name: v.Name, Expression: v.Expression})
	}
	compiler.CompileAndStoreVariables(variables, with, environment.StoredExpressions)
	condition := func(list []plugincel.ExpressionAccessor, o plugincel.OptionalVariableDeclarations) plugincel.ConditionEvaluator {
		return compiler.CompileCondition(list, o, environment.StoredExpressions)
	}
	var matcher matchconditions.Matcher
	if matches := matchAccessors(p); len(matches) > 0 {
		matcher = matchconditions.NewMatcher(condition(matches, with), p.Spec.FailurePolicy, "policy", "validate", p.Name)
	}
	return validating.NewValidator(condition(validations(p), with), matcher, condition(annotations(p), with),
		condition(messageExpressions(p), messages), p.Spec.FailurePolicy, nil), nil
}

func matchAccessors(p *admissionv1.ValidatingAdmissionPolicy) []plugincel.ExpressionAccessor {
	var out []plugincel.ExpressionAccessor
	for i := range p.Spec.MatchConditions {
		out = append(out, (*matchconditions.MatchCondition)(&p.Spec.MatchConditions[i]))
	}
	return out
}

func validations(p *admissionv1.ValidatingAdmissionPolicy) []plugincel.ExpressionAccessor {
	var out []plugincel.ExpressionAccessor
	for _, v := range p.Spec.Validations {
		out = append(out, &validating.ValidationCondition{Expression: v.Expression, Message: v.Message, Reason: v.Reason})
	}
	return out
}

func annotations(p *admissionv1.ValidatingAdmissionPolicy) []plugincel.ExpressionAccessor {
	var out []plugincel.ExpressionAccessor
	for _, a := range p.Spec.AuditAnnotations {
		out = append(out, &validating.AuditAnnotationCondition{Key: a.Key, ValueExpression: a.ValueExpression})
	}
	return out
}

// messageExpressions has a hole where a validation has none, as in the API server.
func messageExpressions(p *admissionv1.ValidatingAdmissionPolicy) []plugincel.ExpressionAccessor {
	out := make([]plugincel.ExpressionAccessor, len(p.Spec.Validations))
	for i, v := range p.Spec.Validations {
		if v.MessageExpression != "" {
			out[i] = &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression}
		}
	}
	return out
}
