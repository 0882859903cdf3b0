package observe

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/inventory"
	"offramp.dev/migration"
)

// builtInDeny is what the plugin DenyServiceExternalIPs of kube-apiserver says, measured on 1.36; it has no code of its own.
const builtInDeny = "Use of external IPs is denied by admission control"

// quotaSpent is what the quota plugin says. It is asked last, so a request that gets there was admitted by all others.
const quotaSpent = "exceeded quota"

// wayBackRecheck is how long an answer about the way back is believed while the walk is under way.
const wayBackRecheck = time.Minute

// Returns looks at the way back of entry points and remembers what it saw for a while, which a restart may lose.
type Returns struct {
	guard client.Client

	mu   sync.Mutex
	seen map[string]wayBack
}

// wayBack is the last answer about one entry point.
type wayBack struct {
	at      time.Time
	of      string
	members []migration.Return
}

// NewReturns asks the API server through the guard's client.
func NewReturns(p Ports) *Returns { return &Returns{guard: p.Guard, seen: map[string]wayBack{}} }

// Forget drops the memory of an entry point that is gone.
func (l *Returns) Forget(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.seen, name)
}

// Look looks at what the way back of each member would meet now. The API server is asked by dry runs: only it knows what
// its plugins, policies and webhooks say. An answer is believed for a minute, in retention for the policy's recheckSeconds,
// and only while the members are as they were.
//
// Passes of different entry points may look at once; one and the same entry point never has two passes at once.
func (l *Returns) Look(ctx context.Context, w *World, f migration.Facts) []migration.Return {
	if f.Record.Snapshot == nil || ended(f.Record) {
		return nil
	}
	name, of := w.EntryPoint.Name, membersKey(f)
	last := l.last(name)
	if age := f.Now.Sub(last.at); last.of == of && age >= 0 && age < believed(f) {
		return last.members
	}
	next := wayBack{at: f.Now, of: of}
	for _, m := range f.Fields {
		next.members = append(next.members, l.look(ctx, w, f, m))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen[name] = next
	return next.members
}

func (l *Returns) last(name string) wayBack {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen[name]
}

// believed is shorter than the pace of passes where they come slowly: each of them then looks anew.
func believed(f migration.Facts) time.Duration {
	p := frozen(f.Record)
	if p == nil || !migration.InRetention(f) {
		return wayBackRecheck
	}
	return time.Duration(p.Settings.Recheck)*time.Second - wayBackRecheck/2
}

// membersKey tells one state of the members from another, as far as the way back depends on it.
func membersKey(f migration.Facts) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d", f.Record.Name, len(f.Record.Stamps))
	for _, x := range f.Fields {
		fmt.Fprintf(&b, " %s %t %t %d", x.Service, x.Missing, x.Present, x.Mark)
	}
	return b.String()
}

func (l *Returns) look(ctx context.Context, w *World, f migration.Facts, m migration.Field) migration.Return {
	out := migration.Return{Service: m.Service}
	svc, snap, ok := memberOf(w, f, m.Service)
	switch {
	case m.Missing || svc == nil:
		return out
	case !ok:
		out.Recreated = true
		return out
	}
	out.Owner = ownerOf(w.Entry.Findings, m.Service)
	out.Unattracted, out.Unseen = attracted(f.Record.Snapshot, w.Entry.Attraction, snap.Spec.ExternalIPs)
	if m.Present {
		l.askAnew(ctx, snap, &out)
		return out
	}
	l.askRestore(ctx, svc, snap, &out)
	return out
}

// memberOf is the live Service and its snapshot; false if the snapshot is of another object of that name.
func memberOf(w *World, f migration.Facts, key string) (*corev1.Service, migration.ServiceSnapshot, bool) {
	svc := w.Services[key]
	if svc == nil {
		return nil, migration.ServiceSnapshot{}, false
	}
	snap, ok := f.Record.Snapshot.Find(svc.Namespace, svc.Name, string(svc.UID))
	return svc, snap, ok
}

// askRestore is a dry run of the very patch that puts the field back. A Service without our mark gets none.
func (l *Returns) askRestore(ctx context.Context, svc *corev1.Service, snap migration.ServiceSnapshot, out *migration.Return) {
	ops := migration.RestorePatch(svc, snap)
	if len(ops) == 0 {
		return
	}
	patch, err := json.Marshal(ops)
	if err != nil {
		out.Unanswered = err.Error()
		return
	}
	err = l.guard.Patch(ctx, svc.DeepCopy(), client.RawPatch(types.JSONPatchType, patch), client.DryRunAll)
	switch {
	case err == nil:
	case strings.Contains(err.Error(), builtInDeny):
		out.Denied = err.Error()
	case apierrors.IsForbidden(err) && judged(err):
		out.Refused = err.Error()
	default:
		out.Unanswered = "the dry run that puts the field back was answered with: " + err.Error()
	}
}

// askAnew asks what is said to the field while the Service still carries it: a patch would change nothing, so nothing would
// be judged. A dry run that creates the same Service once more is judged, and then refused because it exists.
func (l *Returns) askAnew(ctx context.Context, snap migration.ServiceSnapshot, out *migration.Return) {
	err := l.guard.Create(ctx, onceMore(snap), client.DryRunAll)
	switch {
	case err == nil, apierrors.IsAlreadyExists(err), apierrors.IsForbidden(err) && strings.Contains(err.Error(), quotaSpent):
	case strings.Contains(err.Error(), builtInDeny):
		out.Denied = err.Error()
	default:
		out.Unanswered = "a dry run that creates the Service once more was answered with: " + err.Error()
	}
}

// onceMore is the Service as it was, with what only one object can hold left out.
func onceMore(snap migration.ServiceSnapshot) *corev1.Service {
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: snap.Namespace, Name: snap.Name, Labels: maps.Clone(snap.Labels), Annotations: maps.Clone(snap.Annotations),
		},
		Spec: corev1.ServiceSpec{
			Selector: maps.Clone(snap.Spec.Selector), ExternalIPs: migration.Spellings(snap.Spec.ExternalIPs),
			IPFamilies: slices.Clone(snap.Spec.IPFamilies), IPFamilyPolicy: snap.Spec.IPFamilyPolicy,
		},
	}
	for _, p := range snap.Spec.Ports {
		p.NodePort = 0
		svc.Spec.Ports = append(svc.Spec.Ports, p)
	}
	return svc
}

// judged tells a refusal by a policy or a webhook from a missing right, which says nothing about the field.
func judged(err error) bool {
	return strings.Contains(err.Error(), "denied request") || strings.Contains(err.Error(), "denied the request")
}

// ownerOf is what the inventory says of who applies a Service from elsewhere, or "".
func ownerOf(findings []v1alpha1.Finding, service string) string {
	owned := []string{inventory.ReasonOwnedByGitOps, inventory.ReasonOwnedByHelm, inventory.ReasonOwnedByController}
	for _, f := range findings {
		if slices.Contains(owned, f.Reason) && slices.Contains(strings.Fields(f.Object), service) {
			return "Service " + service + ": " + f.Message
		}
	}
	return ""
}

// attracted compares who brought the packets when the snapshot was taken with who does now. What ended with the field comes
// back with it; what nobody can see cannot be told.
func attracted(s *migration.Snapshot, now []inventory.Attracted, addresses []string) (gone, unseen string) {
	for _, text := range migration.Spellings(addresses) {
		at := slices.IndexFunc(now, func(a inventory.Attracted) bool { return a.Address == text })
		if at >= 0 && now[at].By != v1alpha1.AttractionUnknown {
			continue
		}
		was := slices.IndexFunc(s.Attraction, func(a migration.Attracted) bool { return a.Address == text })
		switch {
		case was >= 0 && s.Attraction[was].By == v1alpha1.AttractionInterface && !strings.HasPrefix(s.Attraction[was].Why, "MigrationPolicy "):
			gone = first(gone, fmt.Sprintf("nothing brings packets for %s any more; when the snapshot was taken: %s", text, s.Attraction[was].Why))
		default:
			unseen = first(unseen, fmt.Sprintf("who brings the packets for %s is not known: say it in the policy's drain.attraction", text))
		}
	}
	return gone, unseen
}

// Attraction is what the inventory says now, for the snapshot.
func (w *World) Attraction() []migration.Attracted {
	var out []migration.Attracted
	for _, a := range w.Entry.Attraction {
		out = append(out, migration.Attracted{Address: a.Address, By: a.By, Why: a.Why})
	}
	return out
}
