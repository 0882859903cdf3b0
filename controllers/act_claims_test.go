package controllers

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/gateway"
	"offramp.dev/migration"
	"offramp.dev/observe"
)

const sharedAddress = "192.0.2.9"

// staticPlan is the plan of an entry point behind the static Service: one HTTP hostname, or the whole TCP port.
func staticPlan(t *testing.T, entryPoint, host string) migration.Facts {
	t.Helper()
	listener := map[string]any{"name": "l", "port": 80, "protocol": "TCP"}
	if host != "" {
		listener["protocol"], listener["hostname"] = "HTTP", host
	}
	object, err := json.Marshal(map[string]any{"kind": "Gateway", "spec": map[string]any{"listeners": []any{listener}}})
	if err != nil {
		t.Fatal(err)
	}
	plan := &migration.Plan{
		EntryPoint: entryPoint, Strategy: v1alpha1.StrategyGateway, Objects: []json.RawMessage{object},
		Claims: []addresspool.Claim{{
			Address: netip.MustParseAddr(sharedAddress), Role: addresspool.New, EntryPoint: entryPoint,
			Holders: []addresspool.Holder{{Namespace: "ingress", Name: "edge", Ports: []string{"TCP/80"}}},
		}},
	}
	return migration.Facts{Record: migration.Record{Plans: []migration.AttemptPlan{{Attempt: 1, Plan: plan}}}}
}

// ledgerBed is a ledger with what two entry points do to it.
type ledgerBed struct {
	*testing.T

	r *EntryPoints
}

func newLedgerBed(t *testing.T) ledgerBed {
	t.Helper()
	return ledgerBed{t, &EntryPoints{Ports: &Ports{Client: fakeClient(t, nil)}}}
}

// look is what an entry point sees of the ledger now.
func (b ledgerBed) look(entryPoint string) *observe.World {
	b.Helper()
	var all v1alpha1.AddressClaimList
	if err := b.r.Client.List(b.Context(), &all); err != nil {
		b.Fatal(err)
	}
	return &observe.World{EntryPoint: &v1alpha1.EntryPoint{ObjectMeta: metav1.ObjectMeta{Name: entryPoint}}, Claims: all.Items}
}

func (b ledgerBed) claim(entryPoint, host string) {
	b.Helper()
	if err := b.r.claim(b.Context(), b.look(entryPoint), staticPlan(b.T, entryPoint, host)); err != nil {
		b.Fatal(err)
	}
}

func (b ledgerBed) unclaim(w *observe.World) {
	b.Helper()
	if err := b.r.unclaim(b.Context(), w); err != nil {
		b.Fatal(err)
	}
}

// row is the row as stored, nil if there is none.
func (b ledgerBed) row() *v1alpha1.AddressClaim {
	b.Helper()
	rows := b.look("").Claims
	if len(rows) == 0 {
		return nil
	}
	return &rows[0]
}

func (b ledgerBed) heldBy(want ...string) {
	b.Helper()
	row := b.row()
	if row == nil {
		if len(want) > 0 {
			b.Errorf("there is no row, want one of %v", want)
		}
		return
	}
	if got := addresspool.EntryPoints(&row.Spec); !slices.Equal(got, want) {
		b.Errorf("the row is held by %v, want %v", got, want)
	}
	if !slices.Contains(row.Finalizers, v1alpha1.Finalizer) || row.Labels[v1alpha1.LabelEntryPoint] != gateway.Label(want[0]) ||
		row.Spec.EntryPoint != want[0] {
		b.Errorf("row of %s with finalizers %v and labels %v, want those of %s", row.Spec.EntryPoint, row.Finalizers, row.Labels, want[0])
	}
}

func TestEntryPointsClaimAndUnclaimTheirSharesAlone(t *testing.T) {
	t.Parallel()
	b := newLedgerBed(t)
	for range 2 { // a repeated claim changes nothing
		b.claim("a", "a.example")
		b.claim("b", "b.example")
		b.claim("c", "c.example")
		b.heldBy("a", "b", "c")
	}
	version := b.row().ResourceVersion
	b.claim("b", "b.example")
	if got := b.row().ResourceVersion; got != version {
		t.Error("a claim that is held already was written again")
	}
	for range 2 {
		b.unclaim(b.look("a"))
		b.heldBy("b", "c")
	}
	b.unclaim(b.look("c"))
	b.heldBy("b")
	for range 2 {
		b.unclaim(b.look("b"))
		b.heldBy()
	}
}

func TestOfTwoEntryPointsThatClaimAtOnceOneLooksAgain(t *testing.T) {
	t.Parallel()
	b := newLedgerBed(t)
	empty := b.look("b")
	b.claim("a", "a.example")
	if err := b.r.claim(b.Context(), empty, staticPlan(t, "b", "b.example")); !apierrors.IsAlreadyExists(err) {
		t.Errorf("creating a row that exists: %v", err)
	}
	stale := b.look("c")
	b.claim("b", "b.example")
	if err := b.r.claim(b.Context(), stale, staticPlan(t, "c", "c.example")); err != nil {
		t.Errorf("joining a row that has changed: %v", err)
	}
	b.heldBy("a", "b")
	b.claim("c", "c.example")
	b.heldBy("a", "b", "c")
}

func TestAShareThatMeetsAnotherIsNotWrittenWhateverWasDecided(t *testing.T) {
	t.Parallel()
	b := newLedgerBed(t)
	b.claim("a", "a.example")
	for host, want := range map[string]string{"a.example": "hostname a.example", "": "port TCP/80 (HTTP)"} {
		err := b.r.claim(b.Context(), b.look("b"), staticPlan(t, "b", host))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "entry point a") {
			t.Errorf("claiming %q: %v, want an error that names %s of a", host, err, want)
		}
	}
	b.heldBy("a")
}

func TestTheLastOneToLeaveKeepsARowThatSomebodyJoined(t *testing.T) {
	t.Parallel()
	b := newLedgerBed(t)
	b.claim("a", "a.example")
	leaving := b.look("a")
	b.claim("b", "b.example")
	b.unclaim(leaving) // what it saw has changed: it looks again
	b.heldBy("a", "b")
	b.unclaim(b.look("a"))
	b.heldBy("b")
}

func TestARowWhoseLastHolderDiedBetweenItsTwoWritesIsJoinedOrGoes(t *testing.T) {
	t.Parallel()
	for name, joins := range map[string]bool{"the holder comes back": false, "another one joins first": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newLedgerBed(t)
			b.claim("a", "a.example")
			row := b.row()
			row.Finalizers = nil
			if err := b.r.Client.Update(b.Context(), row); err != nil {
				t.Fatal(err)
			}
			afterTheFirst := b.look("a")
			if !joins {
				b.unclaim(afterTheFirst)
				b.heldBy()
				return
			}
			b.claim("b", "b.example")
			b.unclaim(afterTheFirst)
			b.heldBy("a", "b")
			b.unclaim(b.look("a"))
			b.heldBy("b")
		})
	}
}

func TestARowThatIsBeingDeletedIsNotJoined(t *testing.T) {
	t.Parallel()
	b := newLedgerBed(t)
	b.claim("a", "a.example")
	b.claim("b", "b.example")
	if err := b.r.Client.Delete(b.Context(), b.row()); err != nil {
		t.Fatal(err)
	}
	err := b.r.claim(b.Context(), b.look("c"), staticPlan(t, "c", "c.example"))
	if err == nil || !strings.Contains(err.Error(), "AddressClaim "+sharedAddress+" is being deleted") {
		t.Errorf("joining it: %v", err)
	}
	b.unclaim(b.look("a"))
	b.heldBy("b")
	b.unclaim(b.look("b"))
	b.heldBy()
}

func TestAChangedPlanChangesTheShareOfItsEntryPoint(t *testing.T) {
	t.Parallel()
	b := newLedgerBed(t)
	b.claim("a", "a.example")
	b.claim("b", "b.example")
	b.claim("a", "c.example")
	b.heldBy("a", "b")
	want := []v1alpha1.ClaimListener{{Port: "TCP/80", Protocol: v1alpha1.ListenerHTTP, Hostnames: []string{"c.example"}}}
	if got := b.row().Spec.Shares[0].Listeners; !reflect.DeepEqual(got, want) {
		t.Errorf("the share of a serves %v, want %v", got, want)
	}
}

func TestARowThatAnEarlierVersionClaimedAloneIsSharedByItsHolderOnly(t *testing.T) {
	t.Parallel()
	b := newLedgerBed(t)
	c := staticPlan(t, "a", "a.example").Record.Plans[0].Plan.Claims[0]
	if err := b.r.Client.Create(b.Context(), claimObject(c)); err != nil {
		t.Fatal(err)
	}
	if err := b.r.claim(b.Context(), b.look("b"), staticPlan(t, "b", "b.example")); err == nil {
		t.Error("b joined a row that a holds alone")
	}
	b.claim("a", "a.example")
	b.claim("b", "b.example")
	b.heldBy("a", "b")
}

func TestADeletedRowStaysUntilTheLastWalkOfThoseWhoShareItHasEnded(t *testing.T) {
	t.Parallel()
	b := newLedgerBed(t)
	b.claim("a", "a.example")
	b.claim("b", "b.example")
	record := func(entryPoint string, kind v1alpha1.StampKind) *v1alpha1.MigrationRecord {
		return &v1alpha1.MigrationRecord{
			ObjectMeta: metav1.ObjectMeta{Name: entryPoint + "-1", Labels: map[string]string{v1alpha1.LabelEntryPoint: gateway.Label(entryPoint)}},
			Spec:       v1alpha1.MigrationRecordSpec{EntryPoint: entryPoint, Journal: []v1alpha1.Stamp{{Kind: kind}}},
		}
	}
	walking := record("b", v1alpha1.StampRecorded)
	for _, o := range []client.Object{record("a", v1alpha1.StampForgotten), walking} {
		if err := b.r.Client.Create(b.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.r.Client.Delete(b.Context(), b.row()); err != nil {
		t.Fatal(err)
	}
	claims := &Claims{b.r.Ports}
	if done, err := claims.letGo(b.Context(), b.row()); done || err != nil {
		t.Errorf("let go %v, %v while b walks", done, err)
	}
	b.heldBy("a", "b")
	walking.Spec.Journal = append(walking.Spec.Journal, v1alpha1.Stamp{Kind: v1alpha1.StampUndone})
	if err := b.r.Client.Update(b.Context(), walking); err != nil {
		t.Fatal(err)
	}
	if done, err := claims.letGo(b.Context(), b.row()); !done || err != nil {
		t.Errorf("let go %v, %v after the last walk", done, err)
	}
	b.heldBy()
}

func TestARowConcernsEverybodyWhoSharesIt(t *testing.T) {
	t.Parallel()
	b := newLedgerBed(t)
	b.claim("a", "a.example")
	b.claim("b", "b.example")
	for name, want := range map[string]bool{"a": true, "b": true, "c": false} {
		ep := &v1alpha1.EntryPoint{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if got := concerns(ep, b.row()); got != want {
			t.Errorf("%s is concerned: %v, want %v", name, got, want)
		}
	}
	if concerns(&v1alpha1.EntryPoint{}, &corev1.Service{}) {
		t.Error("a Service concerns an entry point that has nothing to do with it")
	}
}
