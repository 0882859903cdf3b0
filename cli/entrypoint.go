package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/migration"
)

// find reads one EntryPoint by its own name, or by "namespace/service" of a member.
func find(ctx context.Context, c client.Reader, name string) (*v1alpha1.EntryPoint, error) {
	namespace, service, isService := strings.Cut(name, "/")
	if isService {
		return findMember(ctx, c, v1alpha1.ServiceReference{Namespace: namespace, Name: service})
	}
	var out v1alpha1.EntryPoint
	err := c.Get(ctx, client.ObjectKey{Name: name}, &out)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("no EntryPoint %q; kubectl offramp get lists them, and inventory says what could become one", name)
	case err != nil:
		return nil, kindError(err)
	}
	return &out, nil
}

func findMember(ctx context.Context, c client.Reader, member v1alpha1.ServiceReference) (*v1alpha1.EntryPoint, error) {
	all, err := entryPoints(ctx, c)
	if err != nil {
		return nil, err
	}
	var found []*v1alpha1.EntryPoint
	for i := range all {
		if slices.Contains(all[i].Spec.Members, member) {
			found = append(found, &all[i])
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("no EntryPoint has Service %s/%s as a member; opt it in with annotation %s, or look at inventory",
			member.Namespace, member.Name, v1alpha1.AnnotationPolicy)
	case 1:
		return found[0], nil
	default:
		return nil, fmt.Errorf("service %s/%s is a member of %s and %s; name one of them",
			member.Namespace, member.Name, found[0].Name, found[1].Name)
	}
}

// entryPoints reads all of them, sorted by name.
func entryPoints(ctx context.Context, c client.Reader) ([]v1alpha1.EntryPoint, error) {
	out := []v1alpha1.EntryPoint{}
	err := each(ctx, c, &v1alpha1.EntryPointList{}, func(o client.Object) {
		if e, ok := o.(*v1alpha1.EntryPoint); ok {
			out = append(out, *e)
		}
	})
	slices.SortFunc(out, func(a, b v1alpha1.EntryPoint) int { return strings.Compare(a.Name, b.Name) })
	return out, kindError(err)
}

// kindError names the way out where the kinds are not installed.
func kindError(err error) error {
	switch {
	case err == nil:
		return nil
	case notServed(err):
		return fmt.Errorf("this cluster has no EntryPoints: %w; install Offramp first (docs/install.md); inventory works without", err)
	default:
		return fmt.Errorf("reading EntryPoints: %w", err)
	}
}

// members as "ns/name".
func members(e *v1alpha1.EntryPoint) []string {
	out := make([]string, 0, len(e.Spec.Members))
	for _, m := range e.Spec.Members {
		out = append(out, m.Namespace+"/"+m.Name)
	}
	return out
}

// gateConditions are the conditions of gates in the order of the table.
func gateConditions(e *v1alpha1.EntryPoint) []metav1.Condition {
	var out []metav1.Condition
	for _, gate := range append([]string{string(migration.GateUndone)}, gateNames()...) {
		if c := meta.FindStatusCondition(e.Status.Conditions, gate); c != nil {
			out = append(out, *c)
		}
	}
	return out
}

// shareBar draws how much of the traffic DNS asks the new path to take.
func shareBar(percent int32) string {
	const width = 10
	full := min(max(int(percent)*width/100, 0), width)
	return fmt.Sprintf("[%s%s] %d%%", strings.Repeat("#", full), strings.Repeat(".", width-full), percent)
}

// standing is the gate that the walk stands before, and why.
func standing(e *v1alpha1.EntryPoint) (gate, reason string) {
	if e.Status.Next != nil {
		return e.Status.Next.Gate, e.Status.Next.Reason
	}
	if c := meta.FindStatusCondition(e.Status.Conditions, conditionReady); c != nil {
		return "", c.Reason
	}
	return "", "NotSeen"
}

// The conditions of every EntryPoint that are no gates.
const (
	conditionReady    = "Ready"
	conditionStalled  = "Stalled"
	conditionRollback = "RollbackAvailable"
	conditionExpired  = "SnapshotExpired"
)

// when tells a time relative to now.
func (a *app) when(at *metav1.Time) string {
	if at == nil || a.Now == nil {
		return ""
	}
	left := at.Sub(a.Now()).Round(time.Second)
	if left < 0 {
		return span(-left) + " ago"
	}
	return "in " + span(left)
}

// span is a duration in at most two units, as kubectl writes ages.
func span(d time.Duration) string {
	seconds := int64(d / time.Second)
	switch {
	case seconds < 60:
		return fmt.Sprintf("%ds", seconds)
	case seconds < 3600:
		return trimZero(seconds/60, "m", seconds%60, "s")
	case seconds < 86400:
		return trimZero(seconds/3600, "h", seconds%3600/60, "m")
	default:
		return trimZero(seconds/86400, "d", seconds%86400/3600, "h")
	}
}

func trimZero(big int64, bigUnit string, small int64, smallUnit string) string {
	if small == 0 {
		return fmt.Sprintf("%d%s", big, bigUnit)
	}
	return fmt.Sprintf("%d%s%d%s", big, bigUnit, small, smallUnit)
}
