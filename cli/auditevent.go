package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	kjson "sigs.k8s.io/json"

	"offramp.dev/inventory"
)

// auditEvent is what is read of an Event of audit.k8s.io.
type auditEvent struct {
	APIVersion      string          `json:"apiVersion"`
	Kind            string          `json:"kind"`
	Stage           string          `json:"stage"`
	RequestURI      string          `json:"requestURI"`
	Verb            string          `json:"verb"`
	User            auditUser       `json:"user"`
	Impersonated    *auditUser      `json:"impersonatedUser"`
	ObjectRef       auditObject     `json:"objectRef"`
	ResponseStatus  auditStatus     `json:"responseStatus"`
	RequestObject   json.RawMessage `json:"requestObject"`
	ResponseObject  json.RawMessage `json:"responseObject"`
	RequestReceived time.Time       `json:"requestReceivedTimestamp"`
	StageAt         time.Time       `json:"stageTimestamp"`
	// Items of an EventList, which is what a webhook gets.
	Items []auditEvent `json:"items"`
}

type auditUser struct {
	Username string `json:"username"`
}

type auditObject struct {
	Resource    string `json:"resource"`
	Subresource string `json:"subresource"`
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	APIGroup    string `json:"apiGroup"`
}

type auditStatus struct {
	Code int `json:"code"`
}

// The errors of a line.
var (
	errNoEventLine = errors.New("is no JSON object on one line, or only a part of one")
	errNoEvent     = errors.New("is no Event of audit.k8s.io")
)

// line reads one line. Most events are about something else; those are told by the text alone and not decoded.
func (l *audit) line(text []byte) error {
	switch {
	case text[0] != '{' || text[len(text)-1] != '}':
		return errNoEventLine
	case !bytes.Contains(text, []byte("audit.k8s.io/")):
		return errNoEvent
	case !bytes.Contains(text, []byte(`"services"`)):
		return nil
	}
	var event auditEvent
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &event); err != nil {
		return fmt.Errorf("does not decode: %w", err)
	}
	if !strings.HasPrefix(event.APIVersion, "audit.k8s.io/") {
		return errNoEvent
	}
	if event.Kind != "EventList" {
		event.Items = []auditEvent{event}
	}
	for i := range event.Items {
		l.event(&event.Items[i])
	}
	return nil
}

// event notes what one request wrote, or tried to.
func (l *audit) event(e *auditEvent) {
	if !e.writesService() {
		return
	}
	denied, counts := e.outcome()
	if !counts {
		return
	}
	l.requests++
	body := e.body(denied)
	if body == nil {
		l.bodiless++
		return
	}
	addresses := slices.DeleteFunc(body.addresses(), func(text string) bool { return text == "" })
	if len(addresses) == 0 {
		return
	}
	l.keep(inventory.Audited{
		At: e.at(), User: e.user(), Service: e.ObjectRef.Namespace + "/" + e.name(), Addresses: addresses, Denied: denied,
	})
}

// writesService tells a finished request that could write spec.externalIPs. A status cannot, and a dry run does not.
func (e *auditEvent) writesService() bool {
	o := e.ObjectRef
	if o.Resource != "services" || o.APIGroup != "" || o.Subresource != "" || e.Stage != "ResponseComplete" {
		return false
	}
	if e.Verb != "create" && e.Verb != "update" && e.Verb != "patch" {
		return false
	}
	uri, err := url.Parse(e.RequestURI)
	return err != nil || !uri.Query().Has("dryRun")
}

// outcome tells whether the request was refused, and whether it says anything: a conflict or a failing server is neither a
// write nor a refusal.
func (e *auditEvent) outcome() (denied, counts bool) {
	code := e.ResponseStatus.Code
	switch {
	case code >= http.StatusOK && code < http.StatusMultipleChoices:
		return false, true
	case code == http.StatusBadRequest, code == http.StatusForbidden, code == http.StatusUnprocessableEntity:
		return true, true
	default:
		return false, false
	}
}

func (e *auditEvent) at() time.Time {
	if e.RequestReceived.IsZero() {
		return e.StageAt
	}
	return e.RequestReceived
}

// user is who it was done as, and who did it.
func (e *auditEvent) user() string {
	if e.Impersonated == nil || e.Impersonated.Username == "" {
		return e.User.Username
	}
	return e.Impersonated.Username + " (impersonated by " + e.User.Username + ")"
}

// auditBody is what a request wrote.
type auditBody struct{ raw json.RawMessage }

// body is the request's, and for a write that was done the response where the log holds no request; nil: it holds neither.
// A response to a patch says what the Service carries, not what the patch wrote, so it never stands for one.
func (e *auditEvent) body(denied bool) *auditBody {
	switch {
	case isBody(e.RequestObject):
		return &auditBody{e.RequestObject}
	case !denied && e.Verb != "patch" && isBody(e.ResponseObject):
		return &auditBody{e.ResponseObject}
	default:
		return nil
	}
}

func isBody(raw json.RawMessage) bool {
	return len(raw) > 0 && (raw[0] == '{' || raw[0] == '[')
}

// auditedService is a Service, or a merge patch of one.
type auditedService struct {
	Metadata struct {
		Name         string `json:"name"`
		GenerateName string `json:"generateName"`
	} `json:"metadata"`
	Spec struct {
		ExternalIPs []string `json:"externalIPs"`
	} `json:"spec"`
}

// addresses that the body writes.
func (b *auditBody) addresses() []string {
	if b.raw[0] == '[' {
		return patchedAddresses(b.raw)
	}
	var service auditedService
	_ = kjson.UnmarshalCaseSensitivePreserveInts(b.raw, &service) // a list of other than texts writes no address
	return service.Spec.ExternalIPs
}

// name of the Service. A create is logged without one; what asked for a generated name and was refused never got any.
func (e *auditEvent) name() string {
	if e.ObjectRef.Name != "" {
		return e.ObjectRef.Name
	}
	generated := ""
	for _, raw := range []json.RawMessage{e.RequestObject, e.ResponseObject} {
		var service auditedService
		_ = kjson.UnmarshalCaseSensitivePreserveInts(raw, &service) // the other body may name it
		if service.Metadata.Name != "" {
			return service.Metadata.Name
		}
		generated = cmp.Or(generated, service.Metadata.GenerateName)
	}
	return generated + "*"
}

// patchedAddresses are those that a JSON patch (RFC 6902) adds or puts in place of others.
func patchedAddresses(raw json.RawMessage) []string {
	var operations []struct {
		Op    string          `json:"op"`
		Path  string          `json:"path"`
		Value json.RawMessage `json:"value"`
	}
	if kjson.UnmarshalCaseSensitivePreserveInts(raw, &operations) != nil {
		return nil
	}
	var out []string
	for _, o := range operations {
		if o.Op == "add" || o.Op == "replace" {
			out = append(out, patchedValue(o.Path, o.Value)...)
		}
	}
	return out
}

func patchedValue(path string, value json.RawMessage) []string {
	var (
		list []string
		one  string
		spec struct {
			ExternalIPs []string `json:"externalIPs"`
		}
	)
	switch {
	case path == "/spec/externalIPs":
		_ = kjson.UnmarshalCaseSensitivePreserveInts(value, &list)
		return list
	case strings.HasPrefix(path, "/spec/externalIPs/"):
		if kjson.UnmarshalCaseSensitivePreserveInts(value, &one) == nil && one != "" {
			return []string{one}
		}
		return nil
	case path == "/spec":
		_ = kjson.UnmarshalCaseSensitivePreserveInts(value, &spec)
		return spec.ExternalIPs
	default:
		return nil
	}
}
