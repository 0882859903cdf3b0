package observe

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/inventory"
	"offramp.dev/migration"
)

var services = schema.GroupResource{Resource: "services"}

// asks is a client whose dry runs are answered with one error, and that counts them.
func asks(answer error, count *int) client.Client {
	return fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			*count++
			return answer
		},
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			*count++
			return answer
		},
	}).Build()
}

// returning is one member, with or without the field, and its snapshot.
func returning(present bool) (*World, migration.Facts) {
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u1", ResourceVersion: "1"},
		Spec:       corev1.ServiceSpec{ExternalIPs: []string{"192.0.2.1"}, Ports: []corev1.ServicePort{{Port: 80, NodePort: 30080}}},
	}
	f := migration.Facts{Now: noon, Record: migration.Record{
		Name: "shop-web-1", Exists: true, Snapshot: migration.TakeSnapshot([]*corev1.Service{svc}, nil, noon),
		Stamps: []migration.Stamp{{Kind: v1alpha1.StampRecorded, Attempt: 1, At: noon}},
	}}
	field := migration.Field{Service: "shop/web", Present: present}
	if !present {
		svc.Spec.ExternalIPs, field.Mark = nil, 1
		svc.Annotations = map[string]string{v1alpha1.AnnotationReleased: "shop-web-1/1"}
	}
	f.Fields = []migration.Field{field}
	w := &World{EntryPoint: &v1alpha1.EntryPoint{ObjectMeta: metav1.ObjectMeta{Name: "shop-web"}}, Services: map[string]*corev1.Service{"shop/web": svc}}
	w.Entry.Attraction = []inventory.Attracted{{Address: "192.0.2.1", By: v1alpha1.AttractionStatic}}
	return w, f
}

func forbidden(text string) error { return apierrors.NewForbidden(services, "web", errors.New(text)) }

func TestOnlyAnAnswerOfTheAPIServerIsAnAnswerToTheDryRun(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		present  bool
		answer   error
		denied   bool
		refused  bool
		unasked  bool
		contains string
	}{
		"the patch passes":                           {answer: nil},
		"the plugin denies the patch":                {answer: forbidden(builtInDeny), denied: true},
		"a policy refuses the patch":                 {answer: forbidden("ValidatingAdmissionPolicy 'x' with binding 'x' denied request: no"), refused: true},
		"a webhook refuses the patch":                {answer: forbidden(`admission webhook "x" denied the request: no`), refused: true},
		"a missing right is no refusal of the field": {answer: forbidden(`User "x" cannot patch resource`), unasked: true},
		"a timeout is no answer":                     {answer: context.DeadlineExceeded, unasked: true},
		"a Service that changed meanwhile":           {answer: apierrors.NewConflict(services, "web", errors.New("modified")), unasked: true},
		"with the field, the plugin denies":          {present: true, answer: forbidden(builtInDeny), denied: true},
		"with the field, that it exists is a yes":    {present: true, answer: apierrors.NewAlreadyExists(services, "web")},
		"with the field, a spent quota is a yes":     {present: true, answer: forbidden("exceeded quota: q, requested: services=1")},
		"with the field, other refusals tell little": {present: true, answer: forbidden("ValidatingAdmissionPolicy 'x' with binding 'x' denied request: a label is missing"), unasked: true},
		"with the field, a server that is away":      {present: true, answer: apierrors.NewServiceUnavailable("away"), unasked: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var count int
			w, f := returning(c.present)
			got := NewReturns(Ports{Guard: asks(c.answer, &count)}).Look(t.Context(), w, f)
			if len(got) != 1 || count != 1 {
				t.Fatalf("%d members, %d dry runs", len(got), count)
			}
			if m := got[0]; (m.Denied != "") != c.denied || (m.Refused != "") != c.refused || (m.Unanswered != "") != c.unasked {
				t.Errorf("%+v", m)
			}
		})
	}
}

func TestTheDryRunIsRepeatedWhenTheAnswerIsOldOrTheMemberAnother(t *testing.T) {
	t.Parallel()
	var count int
	w, f := returning(true)
	r := NewReturns(Ports{Guard: asks(nil, &count)})
	look := func(after time.Duration, want int) {
		t.Helper()
		at := f
		at.Now = noon.Add(after)
		if r.Look(t.Context(), w, at); count != want {
			t.Errorf("after %s: %d dry runs, want %d", after, count, want)
		}
	}
	look(0, 1)
	look(59*time.Second, 1)
	look(time.Minute, 2)
	f.Fields[0].Mark = 1
	look(time.Minute, 3)
	r.Forget("shop-web")
	look(time.Minute, 4)
}

func TestAServiceThatWasCreatedAnewIsNotTheSnapshots(t *testing.T) {
	t.Parallel()
	var count int
	w, f := returning(false)
	w.Services["shop/web"].UID = "u2"
	got := NewReturns(Ports{Guard: asks(nil, &count)}).Look(t.Context(), w, f)
	if len(got) != 1 || !got[0].Recreated || count != 0 {
		t.Errorf("%+v after %d dry runs", got, count)
	}
}

func TestTheServiceOnceMoreHoldsNothingThatOnlyOneCanHold(t *testing.T) {
	t.Parallel()
	_, f := returning(true)
	snap := f.Record.Snapshot.Services[0]
	snap.Spec.ClusterIP, snap.Spec.ExternalIPs = "10.96.0.7", []string{"2001:DB8::1"}
	got := onceMore(snap)
	if got.Spec.ClusterIP != "" || got.Spec.Ports[0].NodePort != 0 || got.Name != "web" || got.Spec.ExternalIPs[0] != "2001:db8::1" || got.UID != "" {
		t.Errorf("%+v", got)
	}
	if snap.Spec.Ports[0].NodePort != 30080 {
		t.Error("the snapshot was changed")
	}
}

func TestWhoBringsThePacketsIsComparedWithTheSnapshot(t *testing.T) {
	t.Parallel()
	was := func(by v1alpha1.Attraction, why string) *migration.Snapshot {
		return &migration.Snapshot{Attraction: []migration.Attracted{{Address: "192.0.2.1", By: by, Why: why}}}
	}
	now := func(by v1alpha1.Attraction) []inventory.Attracted {
		return []inventory.Attracted{{Address: "192.0.2.1", By: by}}
	}
	for name, c := range map[string]struct {
		was          *migration.Snapshot
		now          []inventory.Attracted
		gone, unseen string
	}{
		"an announcer announces the field again": {was(v1alpha1.AttractionUnknown, ""), now(v1alpha1.AttractionAnnouncer), "", ""},
		"the node still has it":                  {was(v1alpha1.AttractionInterface, "node b"), now(v1alpha1.AttractionInterface), "", ""},
		"the node is gone":                       {was(v1alpha1.AttractionInterface, "It is an address of node b."), now(v1alpha1.AttractionUnknown), "node b", ""},
		"nobody ever said":                       {was(v1alpha1.AttractionUnknown, ""), now(v1alpha1.AttractionUnknown), "", "192.0.2.1"},
		"nothing was looked at":                  {&migration.Snapshot{}, nil, "", "drain.attraction"},
		"the policy said so and says it no more": {was(v1alpha1.AttractionInterface, "MigrationPolicy p says so"), now(v1alpha1.AttractionUnknown), "", "192.0.2.1"},
	} {
		gone, unseen := attracted(c.was, c.now, []string{"192.0.2.1"})
		if (gone != "") != (c.gone != "") || !strings.Contains(gone, c.gone) || (unseen != "") != (c.unseen != "") || !strings.Contains(unseen, c.unseen) {
			t.Errorf("%s: gone %q, unseen %q", name, gone, unseen)
		}
	}
}

func TestAnEntryPointThatWasOptedInAnewBeginsAnew(t *testing.T) {
	t.Parallel()
	record := func(kind v1alpha1.StampKind, attempt int64) *v1alpha1.MigrationRecord {
		return &v1alpha1.MigrationRecord{Spec: v1alpha1.MigrationRecordSpec{Journal: []v1alpha1.Stamp{
			{Kind: kind, Attempt: attempt, At: metav1.NewMicroTime(noon)},
		}}}
	}
	for name, c := range map[string]struct {
		r       *v1alpha1.MigrationRecord
		created time.Duration
		asked   int64
		want    int64
	}{
		"no record":                                {nil, 0, 1, 1},
		"created before it was undone":             {record(v1alpha1.StampUndone, 2), -time.Hour, 2, 2},
		"created after it was undone":              {record(v1alpha1.StampUndone, 2), time.Hour, 1, 3},
		"a higher attempt stays":                   {record(v1alpha1.StampUndone, 2), time.Hour, 7, 7},
		"a walk under way is never begun anew":     {record(v1alpha1.StampSeen, 2), time.Hour, 1, 1},
		"a forgotten one is never begun anew here": {record(v1alpha1.StampForgotten, 2), time.Hour, 1, 1},
	} {
		ep := &v1alpha1.EntryPoint{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(noon.Add(c.created))}}
		ep.Spec.Attempt = c.asked
		if got := attemptOf(ep, c.r); got != c.want {
			t.Errorf("%s: attempt %d, want %d", name, got, c.want)
		}
	}
}

func TestWhoOwnsTheServiceIsSaidOfThatServiceOnly(t *testing.T) {
	t.Parallel()
	findings := []v1alpha1.Finding{
		{Reason: inventory.ReasonOwnedByGitOps, Object: "Service shop/web2 metadata", Message: "Argo CD applies it."},
		{Reason: inventory.ReasonAnnouncedByField, Object: "Service shop/web spec.externalIPs", Message: "x"},
	}
	if got := ownerOf(findings, "shop/web"); got != "" {
		t.Errorf("got %q", got)
	}
	if got := ownerOf(findings, "shop/web2"); got != "Service shop/web2: Argo CD applies it." {
		t.Errorf("got %q", got)
	}
}
