package gateway

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// nested returns the objects of a list at a path; what is not an object is left out.
func nested(in map[string]any, path ...string) []map[string]any {
	value, found, err := unstructured.NestedFieldNoCopy(in, path...)
	list, isList := value.([]any)
	if err != nil || !found || !isList {
		return nil
	}
	out := make([]map[string]any, 0, len(list))
	for _, item := range list {
		if object, isObject := item.(map[string]any); isObject {
			out = append(out, object)
		}
	}
	return out
}

func text(in map[string]any, path ...string) string {
	value, _, err := unstructured.NestedFieldNoCopy(in, path...)
	s, isText := value.(string)
	if err != nil || !isText {
		return ""
	}
	return s
}

// integer reads a number however it was decoded.
func integer(value any) (int64, bool) {
	switch n := value.(type) {
	case int64:
		return n, true
	case int:
		return int64(n), true
	case int32:
		return int64(n), true
	case float64:
		return int64(n), n == float64(int64(n))
	default:
		return 0, false
	}
}

// requireTrue says what a list of conditions lacks. Reasons are text to show, never to decide by: implementations use
// them loosely. A condition of another generation is as good as none.
func (r *reader) requireTrue(conditions []map[string]any, generation int64, object string, types ...string) {
	for _, kind := range types {
		condition := latest(conditions, kind, generation)
		switch {
		case condition == nil:
			r.missing(object + " condition " + kind + ": not reported yet for this generation")
		case text(condition, "status") == "True":
		case text(condition, "status") == "False":
			r.say(refusal(kind), object+" condition "+kind+" is False: "+shown(text(condition, "reason"))+" "+shown(text(condition, "message")))
		default:
			r.missing(object + " condition " + kind + " is not known yet: " + shown(text(condition, "reason")))
		}
	}
}

// refusal tells what a condition that is False means. Not programmed is not a refusal: addresses and data planes take
// their time, and implementations say False meanwhile.
func refusal(kind string) string {
	if kind == "Programmed" {
		return HealthPending
	}
	return HealthNotAccepted
}

func latest(conditions []map[string]any, kind string, generation int64) map[string]any {
	for _, condition := range conditions {
		observed, _ := integer(condition["observedGeneration"])
		if text(condition, "type") == kind && observed == generation {
			return condition
		}
	}
	return nil
}
