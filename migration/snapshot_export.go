package migration

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"offramp.dev/api/v1alpha1"
)

// ExportSeal is the annotation of an exported record that holds the SHA-256 of its spec: snapshot, plans and journal together.
const ExportSeal = "offramp.dev/export-sha256"

// ErrSealed says that an export does not belong to its seal.
var ErrSealed = errors.New("the export was changed after it was made")

// ExportRecord is the record as a manifest that outlives the cluster: without what only this API server knows, sealed.
func ExportRecord(r *v1alpha1.MigrationRecord) (*v1alpha1.MigrationRecord, error) {
	seal, err := sealOf(r)
	if err != nil {
		return nil, err
	}
	out := &v1alpha1.MigrationRecord{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "MigrationRecord"},
		ObjectMeta: metav1.ObjectMeta{
			Name: r.Name, Labels: maps.Clone(r.Labels), Annotations: map[string]string{ExportSeal: seal}, Finalizers: []string{v1alpha1.Finalizer},
		},
		Spec: *r.Spec.DeepCopy(),
	}
	return out, nil
}

// sealOf is over the decoded spec, so that YAML and JSON of the same export have the same seal.
func sealOf(r *v1alpha1.MigrationRecord) (string, error) {
	spec := r.Spec.DeepCopy()
	for i := range spec.Journal {
		spec.Journal[i].At = metav1.NewMicroTime(spec.Journal[i].At.UTC())
	}
	d, err := EncodeDocument(spec)
	if err != nil {
		return "", fmt.Errorf("MigrationRecord %s: %w", r.Name, err)
	}
	return d.SHA256, nil
}

// VerifyRecord computes every hash anew and reads what the way back needs: the snapshot, the plans and the journal. It
// answers everything that is wrong; nil is sound. An export must also bear its seal.
func VerifyRecord(r *v1alpha1.MigrationRecord, export bool) (*Snapshot, error) {
	problems := []error{verifySeal(r, export), verifyName(r)}
	var snap *Snapshot
	switch {
	case r.Spec.Snapshot != nil:
		snap = &Snapshot{}
		problems = append(problems, inField("spec.snapshot", DecodeDocument(*r.Spec.Snapshot, snap)))
	case !has(r.Spec.Journal, v1alpha1.StampForgotten):
		problems = append(problems, errors.New("spec.snapshot: is missing, and the journal does not say Forgotten"))
	}
	problems = append(problems, verifyPlans(r, snap)...)
	if len(r.Spec.Journal) == 0 || r.Spec.Journal[0].Kind != v1alpha1.StampRecorded {
		problems = append(problems, errors.New("spec.journal: does not begin with Recorded, so it is not whole"))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return snap, nil
}

func verifySeal(r *v1alpha1.MigrationRecord, export bool) error {
	if !export {
		return nil
	}
	got, err := sealOf(r)
	switch want := r.Annotations[ExportSeal]; {
	case err != nil:
		return err
	case want == "":
		return fmt.Errorf("metadata.annotations[%s]: is missing: make the file with kubectl offramp snapshot export", ExportSeal)
	case want != got:
		return fmt.Errorf("%w: its spec has sha256 %s, the seal says %.64q", ErrSealed, got, want)
	}
	return nil
}

// verifyName: a record is found by the name of its entry point and its number.
func verifyName(r *v1alpha1.MigrationRecord) error {
	text, ok := strings.CutPrefix(r.Name, r.Spec.EntryPoint+"-")
	if n, err := strconv.Atoi(text); !ok || err != nil || n < 1 {
		return fmt.Errorf("metadata.name: %q is not %s-<number>, so no walk would find it", r.Name, r.Spec.EntryPoint)
	}
	return nil
}

func verifyPlans(r *v1alpha1.MigrationRecord, snap *Snapshot) []error {
	var out []error
	if len(r.Spec.Plans) == 0 {
		out = append(out, errors.New("spec.plans: holds no plan"))
	}
	for i, p := range r.Spec.Plans {
		field := fmt.Sprintf("spec.plans[%d]", i)
		var plan Plan
		if err := DecodeDocument(p.Plan, &plan); err != nil {
			out = append(out, inField(field, err))
			continue
		}
		if plan.EntryPoint != r.Spec.EntryPoint {
			out = append(out, fmt.Errorf("%s: is of EntryPoint %q, the record of %q", field, plan.EntryPoint, r.Spec.EntryPoint))
		}
		for _, m := range plan.Members {
			if _, held := snap.Find(m.Namespace, m.Name, m.UID); snap != nil && !held {
				out = append(out, fmt.Errorf("%s: the snapshot does not hold its member Service %s/%s", field, m.Namespace, m.Name))
			}
		}
	}
	return out
}

func inField(field string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", field, err)
}

func has(journal []v1alpha1.Stamp, kind v1alpha1.StampKind) bool {
	return slices.ContainsFunc(journal, func(s v1alpha1.Stamp) bool { return s.Kind == kind })
}

// MergeRecord is what the cluster's record becomes by an export of the same walk; more is false if it knows all of it already.
// The export may only go on where the cluster's journal stops, as after an etcd restore: two journals that say different things
// are an error, for nobody can tell which of them happened.
func MergeRecord(live, export *v1alpha1.MigrationRecord) (out *v1alpha1.MigrationRecord, more bool, err error) {
	a, b := live.Spec, export.Spec
	switch {
	case a.EntryPoint != b.EntryPoint:
		return nil, false, fmt.Errorf("MigrationRecord %s is of EntryPoint %s, the export of %s", live.Name, a.EntryPoint, b.EntryPoint)
	case has(a.Journal, v1alpha1.StampForgotten):
		return nil, false, fmt.Errorf("MigrationRecord %s is forgotten: a snapshot does not come back after that", live.Name)
	case a.Snapshot == nil || b.Snapshot == nil || a.Snapshot.SHA256 != b.Snapshot.SHA256:
		return nil, false, fmt.Errorf("MigrationRecord %s holds another snapshot than the export: it is another walk", live.Name)
	case !samePlans(a.Plans, b.Plans) || !sameLines(a.Journal, b.Journal):
		return nil, false, fmt.Errorf("MigrationRecord %s and the export tell different stories: go by the record, or remove it first", live.Name)
	case len(b.Journal) <= len(a.Journal):
		return live, false, nil
	}
	out = live.DeepCopy()
	out.Spec.Plans = append(out.Spec.Plans, b.Plans[min(len(a.Plans), len(b.Plans)):]...)
	out.Spec.Journal = append(out.Spec.Journal, b.Journal[len(a.Journal):]...)
	return out, true, nil
}

// sameLines: one journal is the beginning of the other.
func sameLines(a, b []v1alpha1.Stamp) bool {
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		if x.Kind != y.Kind || x.Step != y.Step || x.Attempt != y.Attempt || !x.At.Time.Equal(y.At.Time) {
			return false
		}
	}
	return true
}

func samePlans(a, b []v1alpha1.AttemptPlan) bool {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
