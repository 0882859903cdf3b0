package migration

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"offramp.dev/api/v1alpha1"
)

// storedRecord is a record as the API server holds it.
func storedRecord(t *testing.T, lines int) *v1alpha1.MigrationRecord {
	t.Helper()
	at := time.Unix(1_800_000_000, 123456000).UTC()
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u1"},
		Spec:       corev1.ServiceSpec{ExternalIPs: []string{"192.0.2.1"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	snapshot, err := EncodeDocument(TakeSnapshot([]*corev1.Service{svc}, nil, at))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := EncodeDocument(&Plan{EntryPoint: "shop-web", Members: []Member{{Namespace: "shop", Name: "web", UID: "u1"}}})
	if err != nil {
		t.Fatal(err)
	}
	r := &v1alpha1.MigrationRecord{
		ObjectMeta: metav1.ObjectMeta{Name: "shop-web-1", UID: "r1", ResourceVersion: "7", Labels: map[string]string{v1alpha1.LabelEntryPoint: "shop-web"}},
		Spec: v1alpha1.MigrationRecordSpec{
			EntryPoint: "shop-web", Snapshot: &snapshot, Plans: []v1alpha1.AttemptPlan{{Attempt: 1, Plan: plan}},
		},
	}
	for i := range lines {
		kind := v1alpha1.StampIntent
		if i == 0 {
			kind = v1alpha1.StampRecorded
		}
		r.Spec.Journal = append(r.Spec.Journal, v1alpha1.Stamp{Kind: kind, Attempt: 1, At: metav1.NewMicroTime(at.Add(time.Duration(i) * time.Second))})
	}
	return r
}

func exported(t *testing.T, r *v1alpha1.MigrationRecord) *v1alpha1.MigrationRecord {
	t.Helper()
	out, err := ExportRecord(r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAnExportSurvivesYAMLAndHoldsNothingOfItsServer(t *testing.T) {
	t.Parallel()
	out := exported(t, storedRecord(t, 3))
	if out.UID != "" || out.ResourceVersion != "" || out.Finalizers[0] != v1alpha1.Finalizer || out.Labels[v1alpha1.LabelEntryPoint] != "shop-web" {
		t.Errorf("metadata %+v", out.ObjectMeta)
	}
	text, err := yaml.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	var back v1alpha1.MigrationRecord
	if err := yaml.UnmarshalStrict(text, &back); err != nil {
		t.Fatal(err)
	}
	snap, err := VerifyRecord(&back, true)
	if err != nil || len(snap.Services) != 1 || snap.Services[0].Spec.ExternalIPs[0] != "192.0.2.1" {
		t.Errorf("%+v: %v", snap, err)
	}
}

func TestVerifyingNamesWhateverIsWrong(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		edit func(*v1alpha1.MigrationRecord)
		says string
	}{
		"a changed journal": {func(r *v1alpha1.MigrationRecord) { r.Spec.Journal[1].Kind = v1alpha1.StampSeen }, "changed after it was made"},
		"a changed snapshot": {func(r *v1alpha1.MigrationRecord) {
			r.Spec.Snapshot.JSON = strings.Replace(r.Spec.Snapshot.JSON, "192.0.2.1", "192.0.2.2", 1)
		}, "spec.snapshot: document is corrupt"},
		"a changed plan":              {func(r *v1alpha1.MigrationRecord) { r.Spec.Plans[0].Plan.JSON += " " }, "spec.plans[0]: document is corrupt"},
		"no seal":                     {func(r *v1alpha1.MigrationRecord) { r.Annotations = nil }, "export-sha256]: is missing"},
		"another name":                {func(r *v1alpha1.MigrationRecord) { r.Name = "other-1" }, "metadata.name"},
		"a number that is none":       {func(r *v1alpha1.MigrationRecord) { r.Name = "shop-web-x" }, "metadata.name"},
		"a lost snapshot":             {func(r *v1alpha1.MigrationRecord) { r.Spec.Snapshot = nil }, "spec.snapshot: is missing"},
		"a journal without its start": {func(r *v1alpha1.MigrationRecord) { r.Spec.Journal = r.Spec.Journal[1:] }, "does not begin with Recorded"},
		"no plan":                     {func(r *v1alpha1.MigrationRecord) { r.Spec.Plans = nil }, "holds no plan"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := exported(t, storedRecord(t, 3))
			c.edit(r)
			if _, err := VerifyRecord(r, true); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
}

func TestAPlanOfAnotherWalkIsNoPlanOfThisRecord(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		plan Plan
		says string
	}{
		"another entry point":                   {Plan{EntryPoint: "shop-api"}, `is of EntryPoint "shop-api"`},
		"a member that the snapshot lacks":      {Plan{EntryPoint: "shop-web", Members: []Member{{Namespace: "shop", Name: "api", UID: "u1"}}}, "does not hold its member Service shop/api"},
		"a member of that name, another object": {Plan{EntryPoint: "shop-web", Members: []Member{{Namespace: "shop", Name: "web", UID: "u2"}}}, "does not hold its member Service shop/web"},
	} {
		r := storedRecord(t, 1)
		document, err := EncodeDocument(&c.plan)
		if err != nil {
			t.Fatal(err)
		}
		r.Spec.Plans[0].Plan = document
		if _, err := VerifyRecord(r, false); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %q", name, err, c.says)
		}
	}
}

func TestTheSealIsOfTheContentNotOfItsSpelling(t *testing.T) {
	t.Parallel()
	r := exported(t, storedRecord(t, 2))
	r.Spec.Journal[0].At = metav1.NewMicroTime(r.Spec.Journal[0].At.In(time.FixedZone("", 3600)))
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back v1alpha1.MigrationRecord
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if _, err := VerifyRecord(&back, true); err != nil || errors.Is(err, ErrSealed) {
		t.Errorf("another time zone broke the seal: %v", err)
	}
}

func TestAnImportGoesOnWhereTheClusterStopsAndNeverElsewhere(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		live, file int
		edit       func(live, file *v1alpha1.MigrationRecord)
		lines      int
		more       bool
		fails      string
	}{
		"the cluster knows all of it":      {live: 3, file: 3, lines: 3},
		"the cluster knows more":           {live: 4, file: 3, lines: 4},
		"the cluster was set back":         {live: 2, file: 5, lines: 5, more: true},
		"two stories":                      {live: 3, file: 4, edit: func(_, f *v1alpha1.MigrationRecord) { f.Spec.Journal[2].Step = 9 }, fails: "different stories"},
		"another snapshot":                 {live: 3, file: 4, edit: func(_, f *v1alpha1.MigrationRecord) { f.Spec.Snapshot.SHA256 = strings.Repeat("0", 64) }, fails: "another snapshot"},
		"another entry point":              {live: 3, file: 4, edit: func(_, f *v1alpha1.MigrationRecord) { f.Spec.EntryPoint = "x" }, fails: "of EntryPoint shop-web"},
		"what is forgotten stays":          {live: 3, file: 4, edit: func(l, _ *v1alpha1.MigrationRecord) { l.Spec.Journal[2].Kind = v1alpha1.StampForgotten }, fails: "is forgotten"},
		"a later plan comes with its line": {live: 2, file: 3, edit: func(_, f *v1alpha1.MigrationRecord) { f.Spec.Plans = append(f.Spec.Plans, f.Spec.Plans[0]) }, lines: 3, more: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live, file := storedRecord(t, c.live), exported(t, storedRecord(t, c.file))
			if c.edit != nil {
				c.edit(live, file)
			}
			out, more, err := MergeRecord(live, file)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("got %v, want %q", err, c.fails)
				}
				return
			}
			if err != nil || more != c.more || len(out.Spec.Journal) != c.lines || out.UID != "r1" || more && len(out.Spec.Plans) != len(file.Spec.Plans) {
				t.Errorf("%d lines, more %t: %v", len(out.Spec.Journal), more, err)
			}
		})
	}
}
