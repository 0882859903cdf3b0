package sim

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
)

// admit is defaulting, validation and the guard, in the order of a request. old is nil on create. It may change obj.
func (s *Server) admit(old, obj runtime.Object) error {
	switch o := obj.(type) {
	case *corev1.Service:
		before, _ := old.(*corev1.Service)
		return s.admitService(before, o)
	case *v1alpha1.AddressClaim:
		before, _ := old.(*v1alpha1.AddressClaim)
		return admitClaim(before, o)
	case *v1alpha1.MigrationRecord:
		before, _ := old.(*v1alpha1.MigrationRecord)
		return admitRecord(before, o)
	case *v1alpha1.EntryPoint:
		return admitEntryPoint(old == nil, o)
	case *v1alpha1.Observation:
		if old == nil {
			o.Status = v1alpha1.ObservationStatus{}
		}
	}
	return nil
}

func admitClaim(old, c *v1alpha1.AddressClaim) error {
	addr, strict, err := addresspool.Canonical(c.Spec.Address)
	if err != nil || !strict || addr.String() != c.Spec.Address || addresspool.ClaimName(addr) != c.Name {
		return refuse("AddressClaim", c.Name, field.Invalid(field.NewPath("spec", "address"), c.Spec.Address,
			"must be the canonical address that the name says"))
	}
	path := field.NewPath("spec", "entryPoint")
	handed := old != nil && old.Spec.EntryPoint != c.Spec.EntryPoint
	switch {
	case handed && (len(c.Spec.Shares) == 0 || !addresspool.HeldBy(&old.Spec, c.Spec.EntryPoint)):
		return refuse("AddressClaim", c.Name, field.Invalid(path, c.Spec.EntryPoint, "entryPoint is immutable"))
	case !addresspool.HeldBy(&c.Spec, c.Spec.EntryPoint):
		return refuse("AddressClaim", c.Name, field.Invalid(path, c.Spec.EntryPoint, "shares must hold the entryPoint too"))
	case len(c.Spec.Shares) > 0 && c.Spec.Role != v1alpha1.ClaimNew:
		return refuse("AddressClaim", c.Name, field.Invalid(field.NewPath("spec", "role"), c.Spec.Role, "shares go with role New"))
	}
	return nil
}

// admitRecord keeps the journal append-only and the snapshot set once.
func admitRecord(old, rec *v1alpha1.MigrationRecord) error {
	if old == nil {
		return nil
	}
	before, after := old.Spec.Journal, rec.Spec.Journal
	path := field.NewPath("spec", "journal")
	if len(after) < len(before) || !slices.EqualFunc(after[:len(before)], before, sameStamp) {
		return refuse("MigrationRecord", rec.Name, field.Invalid(path, len(after), "the journal is append-only"))
	}
	if len(after) > maxJournal {
		return refuse("MigrationRecord", rec.Name, field.TooMany(path, len(after), maxJournal))
	}
	if gone := rec.Spec.Snapshot == nil && hasForgotten(after); gone || old.Spec.Snapshot == nil {
		return nil
	}
	if rec.Spec.Snapshot == nil || *rec.Spec.Snapshot != *old.Spec.Snapshot {
		return refuse("MigrationRecord", rec.Name, field.Invalid(field.NewPath("spec", "snapshot"), "", "the snapshot is set once"))
	}
	return nil
}

// maxJournal is the most lines that the kind allows.
const maxJournal = 64

func sameStamp(a, b v1alpha1.Stamp) bool {
	return a.Kind == b.Kind && a.Step == b.Step && a.Attempt == b.Attempt && a.Note == b.Note && a.At.Time.Equal(b.At.Time)
}

func hasForgotten(journal []v1alpha1.Stamp) bool {
	return slices.ContainsFunc(journal, func(s v1alpha1.Stamp) bool { return s.Kind == v1alpha1.StampForgotten })
}

// admitEntryPoint: a walk begins at Report, whoever creates it.
func admitEntryPoint(created bool, ep *v1alpha1.EntryPoint) error {
	if created && ep.Spec.Goal != v1alpha1.GoalReport {
		return refuse("EntryPoint", ep.Name, field.Invalid(field.NewPath("spec", "goal"), ep.Spec.Goal, "goal must start at Report"))
	}
	if created {
		ep.Status = v1alpha1.EntryPointStatus{}
	}
	return nil
}

// refuse is a 422.
func refuse(kind, name string, errs ...*field.Error) error {
	group := v1alpha1.GroupVersion.Group
	if kind == "Service" {
		group = ""
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: group, Kind: kind}, name, errs)
}

// denied is a 403 of an admission policy, in the words of the API server.
func denied(svc *corev1.Service, policy, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
		Message: fmt.Sprintf("services %q is forbidden: ValidatingAdmissionPolicy '%s' with binding '%s' denied request: %s",
			svc.Name, policy, policy, message),
		Details: &metav1.StatusDetails{Name: svc.Name, Kind: "services"},
	}}
}

// admitService orders what happens to a Service.
func (s *Server) admitService(old, svc *corev1.Service) error {
	if old != nil && reflect.DeepEqual(old.Spec, svc.Spec) {
		return admitServiceStatus(old, svc)
	}
	if old == nil {
		svc.Status = corev1.ServiceStatus{}
	}
	s.defaultService(old, svc)
	if s.seeding {
		return nil
	}
	if errs := validateService(old, svc); len(errs) > 0 {
		return refuse("Service", svc.Name, errs...)
	}
	return s.guardService(old, svc)
}
