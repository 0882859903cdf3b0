package apitest

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/api/v1alpha1"
)

func kindCases() []testCase {
	return append(append(ledgerCases(), versionCases()...), recordCases()...)
}

func claim(name, address string) *v1alpha1.AddressClaim {
	return &v1alpha1.AddressClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.AddressClaimSpec{
			Address: address, Role: v1alpha1.ClaimOld, EntryPoint: "apitest", Reason: "a test",
			Holders: []v1alpha1.ClaimHolder{{Namespace: "apitest", Name: "none", Ports: []string{"TCP/80"}}},
		},
	}
}

func share(entryPoint, host string) v1alpha1.ClaimShare {
	return v1alpha1.ClaimShare{
		EntryPoint: entryPoint, Holders: []v1alpha1.ClaimHolder{{Namespace: "apitest", Name: "none", Ports: []string{"TCP/80"}}},
		Listeners: []v1alpha1.ClaimListener{{Port: "TCP/80", Protocol: v1alpha1.ListenerHTTP, Hostnames: []string{host}}},
	}
}

func entryPoint(name string) *v1alpha1.EntryPoint {
	return &v1alpha1.EntryPoint{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.EntryPointSpec{
			Policy: "apitest", Members: []v1alpha1.ServiceReference{{Namespace: "apitest", Name: "none"}},
			Goal: v1alpha1.GoalReport, Direction: v1alpha1.DirectionForward, Attempt: 1,
		},
	}
}

func ledgerCases() []testCase {
	return []testCase{
		{"a second claim of an address is 409", func(b *bed) {
			b.create(claim("192.0.2.210", "192.0.2.210"))
			b.refused(b.c.Create(b.Context(), claim("192.0.2.210", "192.0.2.210")), apierrors.IsAlreadyExists, "want 409")
		}},
		{"a claim whose name is not its address is refused", func(b *bed) {
			b.refused(b.c.Create(b.Context(), claim("192.0.2.211", "192.0.2.212")), apierrors.IsInvalid, "want 422")
		}},
		{"an IPv6 claim is named with hyphens", func(b *bed) { b.create(claim("2001-db8--211", "2001:db8::211")) }},
		{"a shared claim passes to one that shared it, and to nobody else", func(b *bed) {
			c := claim("192.0.2.213", "192.0.2.213")
			c.Spec.Role, c.Spec.Shares = v1alpha1.ClaimNew, []v1alpha1.ClaimShare{share("apitest", "a.example"), share("other", "b.example")}
			b.create(c)
			c.Spec.EntryPoint, c.Spec.Shares = "stranger", []v1alpha1.ClaimShare{share("stranger", "a.example")}
			b.refused(b.c.Update(b.Context(), c), apierrors.IsInvalid, "want 422")
			b.read(c)
			c.Spec.EntryPoint, c.Spec.Shares = "other", c.Spec.Shares[1:]
			b.update(c)
		}},
		{"an old address is not shared", func(b *bed) {
			c := claim("192.0.2.214", "192.0.2.214")
			c.Spec.Shares = []v1alpha1.ClaimShare{share("apitest", "a.example")}
			b.refused(b.c.Create(b.Context(), c), apierrors.IsInvalid, "want 422")
		}},
		{"a claim that has changed since it was read is not deleted", func(b *bed) {
			c := claim("192.0.2.215", "192.0.2.215")
			b.create(c)
			old := c.DeepCopy()
			c.Spec.Reason = "another test"
			b.update(c)
			gone := client.Preconditions{UID: &old.UID, ResourceVersion: &old.ResourceVersion}
			b.refused(b.c.Delete(b.Context(), old, gone), apierrors.IsConflict, "want 409")
			b.read(c)
		}},
		{"an entry point begins at Report", func(b *bed) {
			ep := entryPoint("apitest-goal")
			ep.Spec.Goal = v1alpha1.GoalStage
			b.refused(b.c.Create(b.Context(), ep), apierrors.IsInvalid, "want 422")
		}},
	}
}

func versionCases() []testCase {
	return []testCase{
		{"a changed spec counts the generation up, a changed status or label does not", func(b *bed) {
			ep := entryPoint("apitest-generation")
			b.create(ep)
			first := ep.Generation
			ep.Labels = map[string]string{"a": "b"}
			b.update(ep)
			ep.Status.SharePercent = 50
			if err := b.c.Status().Update(b.Context(), ep); err != nil {
				b.Fatal(err)
			}
			if b.read(ep); first != 1 || ep.Generation != 1 || ep.Status.SharePercent != 50 {
				b.Fatalf("generation %d, then %d, share %d", first, ep.Generation, ep.Status.SharePercent)
			}
			ep.Spec.Paused = true
			if b.update(ep); ep.Generation != 2 || ep.Status.SharePercent != 50 {
				b.Fatalf("generation %d, share %d", ep.Generation, ep.Status.SharePercent)
			}
		}},
		{"an update from an old version is 409", func(b *bed) {
			ep := entryPoint("apitest-stale")
			b.create(ep)
			old := ep.DeepCopy()
			ep.Spec.Paused = true
			b.update(ep)
			old.Labels = map[string]string{"late": "yes"}
			b.refused(b.c.Update(b.Context(), old), apierrors.IsConflict, "want 409")
		}},
		{"an observation is born without its status", func(b *bed) {
			o := &v1alpha1.Observation{ObjectMeta: metav1.ObjectMeta{Name: "apitest-observation"}}
			o.Status = v1alpha1.ObservationStatus{Source: v1alpha1.SourceImported, StaleAfterSeconds: 60, BootID: "x"}
			o.Status.ReportedAt, o.Status.CoverageSince = metav1.NewTime(anyTime()), metav1.NewTime(anyTime())
			b.create(o)
			if b.read(o); o.Status.BootID != "" {
				b.Fatalf("status %+v", o.Status)
			}
		}},
	}
}

func anyTime() time.Time { return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) }

func (b *bed) update(obj client.Object) {
	b.Helper()
	if err := b.c.Update(b.Context(), obj); err != nil {
		b.Fatalf("update: %v", err)
	}
}

func record(name string) *v1alpha1.MigrationRecord {
	return &v1alpha1.MigrationRecord{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.MigrationRecordSpec{
			EntryPoint: "apitest", Snapshot: document(), Plans: []v1alpha1.AttemptPlan{{Attempt: 1, Plan: *document()}},
			Journal: []v1alpha1.Stamp{stamp(v1alpha1.StampRecorded)},
		},
	}
}

// document is {} with its SHA-256.
func document() *v1alpha1.Document {
	return &v1alpha1.Document{JSON: "{}", SHA256: "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"}
}

func stamp(kind v1alpha1.StampKind) v1alpha1.Stamp {
	return v1alpha1.Stamp{Kind: kind, Attempt: 1, At: metav1.NewMicroTime(anyTime())}
}

func recordCases() []testCase {
	refuses := func(name string, change func(*v1alpha1.MigrationRecord)) func(b *bed) {
		return func(b *bed) {
			rec := record(name)
			b.create(rec)
			change(rec)
			b.refused(b.c.Update(b.Context(), rec), apierrors.IsInvalid, "want 422")
		}
	}
	return []testCase{
		{"the journal takes another line", func(b *bed) {
			rec := record("apitest-append")
			b.create(rec)
			rec.Spec.Journal = append(rec.Spec.Journal, stamp(v1alpha1.StampIntent))
			if b.update(rec); len(rec.Spec.Journal) != 2 {
				b.Fatalf("journal %+v", rec.Spec.Journal)
			}
		}},
		{"the journal lets no line be changed", refuses("apitest-edit", func(r *v1alpha1.MigrationRecord) {
			r.Spec.Journal[0].Kind = v1alpha1.StampUndone
		})},
		{"the journal lets no line go", refuses("apitest-cut", func(r *v1alpha1.MigrationRecord) {
			r.Spec.Journal = []v1alpha1.Stamp{}
		})},
		{"the snapshot is set once", refuses("apitest-snapshot", func(r *v1alpha1.MigrationRecord) {
			r.Spec.Snapshot.JSON = `{"a":1}`
		})},
		{"the snapshot goes only beside Forgotten", refuses("apitest-forget", func(r *v1alpha1.MigrationRecord) {
			r.Spec.Snapshot = nil
		})},
		{"beside Forgotten the snapshot goes", func(b *bed) {
			rec := record("apitest-forgotten")
			b.create(rec)
			rec.Spec.Journal = append(rec.Spec.Journal, stamp(v1alpha1.StampForgotten))
			rec.Spec.Snapshot = nil
			if b.update(rec); rec.Spec.Snapshot != nil {
				b.Fatal("the snapshot is still there")
			}
		}},
	}
}
