package cli_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/cli"
	"offramp.dev/migration"
)

var taken = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func tenantService() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u-1"},
		Spec:       corev1.ServiceSpec{ExternalIPs: []string{"192.0.2.1"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}
}

// walked is an entry point whose walk was recorded, with its record and a parallel Service.
func walked(t *testing.T, lines int, change func(*v1alpha1.EntryPoint)) (*v1alpha1.EntryPoint, *v1alpha1.MigrationRecord) {
	t.Helper()
	target := `{"apiVersion":"v1","kind":"Service","metadata":{"namespace":"shop","name":"web-offramp"}}`
	plan, err := migration.EncodeDocument(&migration.Plan{
		EntryPoint: "shop-web", Members: []migration.Member{{Namespace: "shop", Name: "web", UID: "u-1"}},
		Strategy: v1alpha1.StrategyLoadBalancer, Objects: []json.RawMessage{json.RawMessage(target)},
	})
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := migration.EncodeDocument(migration.TakeSnapshot([]*corev1.Service{tenantService()}, nil, taken))
	if err != nil {
		t.Fatal(err)
	}
	rec := &v1alpha1.MigrationRecord{
		ObjectMeta: metav1.ObjectMeta{Name: "shop-web-1", Labels: map[string]string{v1alpha1.LabelEntryPoint: "shop-web"}},
		Spec: v1alpha1.MigrationRecordSpec{
			EntryPoint: "shop-web", Snapshot: &snapshot, Plans: []v1alpha1.AttemptPlan{{Attempt: 1, Plan: plan}},
		},
	}
	kinds := []v1alpha1.StampKind{v1alpha1.StampRecorded, v1alpha1.StampReleased, v1alpha1.StampSeen}
	for i := range lines {
		rec.Spec.Journal = append(rec.Spec.Journal, v1alpha1.Stamp{Kind: kinds[i%3], Attempt: 1, At: metav1.NewMicroTime(taken.Add(time.Duration(i) * time.Hour))})
	}
	return entryPoint(func(e *v1alpha1.EntryPoint) {
		e.Name, e.Status.Record = "shop-web", rec.Name
		e.Status.Snapshot = &v1alpha1.SnapshotStatus{SHA256: snapshot.SHA256, TakenAt: metav1.NewTime(taken)}
		if change != nil {
			change(e)
		}
	}), rec
}

// exportFile writes an export of the record as the command prints it.
func exportFile(t *testing.T, objects ...client.Object) string {
	t.Helper()
	w, _ := cluster(t, objects...)
	code, out, messages := call(t, "", w, "snapshot", "export", "shop-web")
	if code != 0 || !strings.Contains(messages, "sha256") {
		t.Fatalf("exit code %d: %s", code, messages)
	}
	file := filepath.Join(t.TempDir(), "record.yaml")
	if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestALostRecordComesBackFromItsExport(t *testing.T) {
	t.Parallel()
	e, rec := walked(t, 3, nil)
	file := exportFile(t, e, rec)
	if code, out, messages := call(t, "", cli.Wiring{}, "snapshot", "verify", "-f", file); code != 0 || !strings.Contains(out, "shop-web-1: sound; 1 Services") {
		t.Fatalf("exit code %d: %s%s", code, out, messages)
	}
	w, c := cluster(t, e, tenantService())
	if code, _, messages := call(t, "", w, "snapshot", "import", "-f", file, "--dry-run"); code != 0 {
		t.Fatal(messages)
	}
	if err := c.Get(context.Background(), client.ObjectKeyFromObject(rec), &v1alpha1.MigrationRecord{}); err == nil {
		t.Error("the dry run wrote the record")
	}
	if code, out, messages := call(t, "", w, "snapshot", "import", "-f", file); code != 0 || !strings.Contains(out, "is back, with 3 lines") {
		t.Fatalf("exit code %d: %s%s", code, out, messages)
	}
	var got v1alpha1.MigrationRecord
	if err := c.Get(context.Background(), client.ObjectKeyFromObject(rec), &got); err != nil {
		t.Fatal(err)
	}
	if *got.Spec.Snapshot != *rec.Spec.Snapshot || len(got.Spec.Journal) != 3 || len(got.Finalizers) != 1 || got.Labels[v1alpha1.LabelEntryPoint] == "" {
		t.Errorf("%+v", got)
	}
	if code, out, _ := call(t, "", w, "snapshot", "import", "-f", file); code != 0 || !strings.Contains(out, "knows all of it") {
		t.Errorf("a second import: exit code %d: %s", code, out)
	}
}

func TestARecordThatARestoreSetBackIsLedOn(t *testing.T) {
	t.Parallel()
	e, rec := walked(t, 3, nil)
	file := exportFile(t, e, rec)
	_, old := walked(t, 1, nil)
	w, c := cluster(t, e, old, tenantService())
	if code, out, messages := call(t, "", w, "snapshot", "import", "-f", file); code != 0 || !strings.Contains(out, "from line 1 to line 3") {
		t.Fatalf("exit code %d: %s%s", code, out, messages)
	}
	var got v1alpha1.MigrationRecord
	if err := c.Get(context.Background(), client.ObjectKeyFromObject(rec), &got); err != nil || len(got.Spec.Journal) != 3 {
		t.Errorf("%d lines: %v", len(got.Spec.Journal), err)
	}
}

func TestWhatIsNotTheSameAnyMoreIsNotImportedUnasked(t *testing.T) {
	t.Parallel()
	e, rec := walked(t, 3, nil)
	file := exportFile(t, e, rec)
	anew := tenantService()
	anew.UID = "u-2"
	younger := rec.DeepCopy()
	younger.Name = "shop-web-2"
	for name, tc := range map[string]struct {
		objects []client.Object
		says    string
	}{
		"a Service that is gone":                {[]client.Object{e}, "Service shop/web is gone"},
		"a Service that was created anew":       {[]client.Object{e, anew}, "was created anew"},
		"a younger walk":                        {[]client.Object{e, tenantService(), younger}, "shop-web-2 is of a younger walk"},
		"nothing of it is left, partial or not": {[]client.Object{e, anew}, "no Service of the snapshot is the same object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, c := cluster(t, tc.objects...)
			code, _, messages := call(t, "", w, "snapshot", "import", "-f", file, "--partial")
			if code != 1 || !strings.Contains(messages, tc.says) {
				t.Errorf("exit code %d, want 1 and %q: %s", code, tc.says, messages)
			}
			if err := c.Get(context.Background(), client.ObjectKeyFromObject(rec), &v1alpha1.MigrationRecord{}); err == nil {
				t.Error("it was imported all the same")
			}
		})
	}
}

func TestADamagedExportIsNamedAndNeverImported(t *testing.T) {
	t.Parallel()
	e, rec := walked(t, 3, nil)
	file := exportFile(t, e, rec)
	text, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ from, to, says string }{
		"another address":  {"192.0.2.1", "192.0.2.9", "spec.snapshot: document is corrupt"},
		"another line":     {"kind: Seen", "kind: Abort", "changed after it was made"},
		"an unknown field": {"spec:", "spec:\n  more: 1", "does not decode"},
		"another kind":     {"kind: MigrationRecord", "kind: EntryPoint", "not an export"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			damaged := strings.Replace(string(text), tc.from, tc.to, 1)
			if damaged == string(text) {
				t.Fatal("nothing was damaged")
			}
			w, c := cluster(t, e, tenantService())
			code, _, messages := call(t, damaged, w, "snapshot", "import", "-f", "-")
			if code != 1 || !strings.Contains(messages, tc.says) {
				t.Errorf("exit code %d, want 1 and %q: %s", code, tc.says, messages)
			}
			if err := c.Get(context.Background(), client.ObjectKeyFromObject(rec), &v1alpha1.MigrationRecord{}); err == nil {
				t.Error("it was imported all the same")
			}
		})
	}
}

func TestVerifyInTheClusterTellsServicesThatAreNotTheSame(t *testing.T) {
	t.Parallel()
	e, rec := walked(t, 2, nil)
	w, _ := cluster(t, e, rec, tenantService())
	if code, out, _ := call(t, "", w, "snapshot", "verify", "shop/web"); code != 0 || !strings.Contains(out, "sound") {
		t.Errorf("exit code %d: %s", code, out)
	}
	w, _ = cluster(t, e, rec)
	if code, _, messages := call(t, "", w, "snapshot", "verify", "shop-web-1"); code != 2 || !strings.Contains(messages, "is gone") {
		t.Errorf("exit code %d: %s", code, messages)
	}
}

// signing answers who the caller is, as an API server does.
func signing(t *testing.T, name string, objects ...client.Object) (cli.Wiring, client.Client) {
	t.Helper()
	w, c := cluster(t, objects...)
	inner, ok := c.(client.WithWatch)
	if !ok {
		t.Fatal("the client does not watch")
	}
	signed := interceptor.NewClient(inner, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if u, ok := o.(*unstructured.Unstructured); ok && u.GetKind() == "SelfSubjectReview" {
				return unstructured.SetNestedField(u.Object, name, "status", "userInfo", "username")
			}
			return c.Create(ctx, o, opts...)
		},
	})
	w.Connect = func(cli.ConnectOptions) (*cli.Connection, error) { return &cli.Connection{Client: signed}, nil }
	w.Now = func() time.Time { return taken.Add(24 * time.Hour) }
	return w, c
}

func TestExtendMovesForwardOnlyAndStaysWithinThePolicy(t *testing.T) {
	t.Parallel()
	most := int32(30 * 86400)
	policy := &v1alpha1.MigrationPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1alpha1.MigrationPolicySpec{
		Retention: v1alpha1.RetentionSettings{MaxSeconds: &most},
	}}
	later := metav1.NewTime(taken.Add(10 * 24 * time.Hour))
	now := taken.Add(24 * time.Hour)
	for name, tc := range map[string]struct {
		before func(*v1alpha1.EntryPoint)
		user   string
		args   []string
		want   time.Time
		says   string
	}{
		"from now on": {nil, "ops", []string{"--for", "240h", "--reason", "audit"}, now.Add(240 * time.Hour), "signed by ops"},
		"from the end of the retention": {
			func(e *v1alpha1.EntryPoint) { e.Status.Snapshot.RetainUntil = &later }, "ops",
			[]string{"--for", "24h", "--reason", "audit"},
			later.Add(24 * time.Hour), "",
		},
		"from an extension that the status does not show yet": {
			func(e *v1alpha1.EntryPoint) {
				e.Spec.Retention = &v1alpha1.Retention{Until: later, Requester: "x", Reason: "y"}
			}, "ops", []string{"--for", "24h", "--reason", "audit"}, later.Add(24 * time.Hour), "",
		},
		"past the policy":           {nil, "ops", []string{"--for", "720h", "--reason", "audit"}, time.Time{}, "retention.maxSeconds"},
		"backwards":                 {nil, "ops", []string{"--for", "-1h", "--reason", "audit"}, time.Time{}, "no time to come"},
		"without a reason":          {nil, "ops", []string{"--for", "1h", "--reason", " "}, time.Time{}, "--reason is empty"},
		"without a snapshot":        {func(e *v1alpha1.EntryPoint) { e.Status.Snapshot = nil }, "ops", []string{"--for", "1h", "--reason", "r"}, time.Time{}, "holds no snapshot"},
		"nobody knows who you are":  {nil, "", []string{"--for", "1h", "--reason", "r"}, time.Time{}, "does not say who you are"},
		"a dry run says and leaves": {nil, "ops", []string{"--for", "1h", "--reason", "r", "--dry-run"}, time.Time{}, "(dry run)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, rec := walked(t, 2, tc.before)
			before := e.Spec.Retention
			w, c := signing(t, tc.user, e, rec, policy.DeepCopy())
			_, out, messages := call(t, "", w, append([]string{"extend", "shop-web"}, tc.args...)...)
			if !strings.Contains(out+messages, tc.says) {
				t.Errorf("want %q in %s%s", tc.says, out, messages)
			}
			var got v1alpha1.EntryPoint
			if err := c.Get(context.Background(), client.ObjectKeyFromObject(e), &got); err != nil {
				t.Fatal(err)
			}
			switch r := got.Spec.Retention; {
			case tc.want.IsZero() && (r == nil) != (before == nil):
				t.Errorf("retention was written: %+v", r)
			case !tc.want.IsZero() && (r == nil || !r.Until.Time.Equal(tc.want) || r.Requester != tc.user || r.Reason != "audit"):
				t.Errorf("retention %+v, want until %s", r, tc.want)
			}
		})
	}
}

func TestExportPrintsWhatGitWants(t *testing.T) {
	t.Parallel()
	e, rec := walked(t, 2, nil)
	class := "metallb"
	target := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-offramp", UID: "x", Labels: map[string]string{v1alpha1.LabelEntryPoint: "shop-web", "app": "web"},
			Annotations: map[string]string{v1alpha1.AnnotationPlan: "h", "metallb.io/loadBalancerIPs": "203.0.113.9"},
		},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, ClusterIP: "10.0.0.9", LoadBalancerClass: &class,
			Ports: []corev1.ServicePort{{Port: 80}},
		},
		Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "203.0.113.9"}}}},
	}
	w, _ := cluster(t, e, rec, target)
	code, out, messages := call(t, "", w, "export", "shop-web")
	if code != 0 || !strings.Contains(messages, "is not forgotten") {
		t.Fatalf("exit code %d: %s", code, messages)
	}
	for _, no := range []string{"status", "uid", "resourceVersion", "creationTimestamp", "managedFields", "clusterIP", "offramp.dev/"} {
		if strings.Contains(out, no) {
			t.Errorf("%q is in\n%s", no, out)
		}
	}
	for _, yes := range []string{"kind: Service", "apiVersion: v1", "name: web-offramp", "metallb.io/loadBalancerIPs: 203.0.113.9", "app: web", "loadBalancerClass: metallb"} {
		if !strings.Contains(out, yes) {
			t.Errorf("%q is not in\n%s", yes, out)
		}
	}
	w, _ = cluster(t, e, rec)
	if code, out, messages = call(t, "", w, "export", "shop-web"); code != 1 || out != "" || !strings.Contains(messages, "does not exist") {
		t.Errorf("without its object: exit code %d: %s%s", code, out, messages)
	}
}

func TestManyAreWalkedBack(t *testing.T) {
	t.Parallel()
	ready := func(kind, reason string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: "m"}
	}
	one := func(name, wave string, conditions ...metav1.Condition) client.Object {
		return entryPoint(func(e *v1alpha1.EntryPoint) {
			e.Name, e.Labels, e.Status.Conditions = name, map[string]string{"wave": wave}, conditions
		})
	}
	ended := []metav1.Condition{ready("Ready", migration.ReasonUndone), ready("Undone", migration.ReasonUndone)}
	stalled := []metav1.Condition{{Type: "Ready", Status: "False", Reason: "Conflict"}, ready("Stalled", "Conflict")}
	for name, tc := range map[string]struct {
		args []string
		code int
		back []string
		says string
	}{
		"by name, each once":                {[]string{"a", "b", "a"}, 0, []string{"a", "b"}, ""},
		"by label":                          {[]string{"-l", "wave=3"}, 0, []string{"b", "c"}, ""},
		"none is begun if one is unknown":   {[]string{"a", "nobody"}, 1, nil, "nobody"},
		"a selector of nothing is an error": {[]string{"-l", "wave=9"}, 1, nil, "selects no EntryPoint"},
		"names or labels, not both":         {[]string{"a", "-l", "wave=3"}, 1, nil, "one of them"},
		"a dry run writes nothing":          {[]string{"-l", "wave=3", "--dry-run"}, 0, nil, "(dry run)"},
		"one that stalls stops the rest":    {[]string{"-l", "wave in (1,3)", "--batch", "1"}, 2, []string{"a", "b"}, "b: stalled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, c := cluster(t, one("a", "1", ended...), one("b", "3", stalled...), one("c", "3", ended...))
			code, out, messages := call(t, "", w, append([]string{"rollback"}, tc.args...)...)
			if code != tc.code || !strings.Contains(out+messages, tc.says) {
				t.Errorf("exit code %d, want %d and %q: %s%s", code, tc.code, tc.says, out, messages)
			}
			var all v1alpha1.EntryPointList
			if err := c.List(context.Background(), &all); err != nil {
				t.Fatal(err)
			}
			var back []string
			for _, e := range all.Items {
				if e.Spec.Direction == v1alpha1.DirectionBack {
					back = append(back, e.Name)
				}
			}
			if strings.Join(back, " ") != strings.Join(tc.back, " ") {
				t.Errorf("back are %v, want %v", back, tc.back)
			}
		})
	}
}

func TestGetAndWhyShowTheWayBackAndHowLongItIsKept(t *testing.T) {
	t.Parallel()
	until := metav1.NewTime(taken.Add(48 * time.Hour))
	e, _ := walked(t, 2, func(e *v1alpha1.EntryPoint) {
		e.Status.Snapshot.RetainUntil = &until
		e.Status.Conditions = []metav1.Condition{{Type: "RollbackAvailable", Status: "False", Reason: "BuiltInDenyEnabled", Message: "no"}}
	})
	w, _ := cluster(t, e)
	w.Now = func() time.Time { return taken.Add(24 * time.Hour) }
	if _, out, _ := call(t, "", w, "get", "-o", "wide"); !strings.Contains(out, "no,BuiltInDenyEnabled") || !strings.Contains(out, "until 2026-05-03T12:00Z") {
		t.Errorf("got\n%s", out)
	}
	if _, out, _ := call(t, "", w, "why", "shop-web"); !strings.Contains(out, "Way back   no: no") || !strings.Contains(out, "Snapshot   taken 1d ago") {
		t.Errorf("got\n%s", out)
	}
}
