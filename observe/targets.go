package observe

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/gateway"
	"offramp.dev/migration"
)

func keyOf(namespace, name string) client.ObjectKey {
	return client.ObjectKey{Namespace: namespace, Name: name}
}

// claims compares the ledger with the plan's rows.
func claims(w *World, plan *migration.Plan) migration.Claims {
	var out migration.Claims
	for i := range w.Claims {
		out.Any = out.Any || addresspool.HeldBy(&w.Claims[i].Spec, w.EntryPoint.Name)
	}
	if plan == nil {
		return out
	}
	rows, others := addresspool.Rows(w.Claims), uses(w)
	out.Complete = true
	for _, c := range plan.Ledger() {
		out.Complete = out.Complete && addresspool.Held(rows, c)
		for _, x := range addresspool.Admit(rows, others, c) {
			out.Conflicts = append(out.Conflicts, x.Message)
		}
	}
	return out
}

// target compares the target objects with the plan.
func (l *Looker) target(ctx context.Context, r client.Reader, w *World, plan *migration.Plan) (migration.Target, error) {
	if plan == nil {
		return migration.Target{}, nil
	}
	if plan.Strategy == v1alpha1.StrategyAdopt {
		return adopted(w, plan), nil
	}
	want, err := plan.Targets()
	if err != nil {
		return migration.Target{}, fmt.Errorf("plan of EntryPoint %s: %w", plan.EntryPoint, err)
	}
	out := migration.Target{Exact: true}
	for _, o := range want {
		live, found, err := GetLike(ctx, r, o)
		if err != nil {
			return out, err
		}
		if !found {
			out.Exact, out.Difference = false, first(out.Difference, name(o)+" does not exist")
			continue
		}
		out.Any = true
		if ok, difference := gateway.Exact(o, live); !ok {
			out.Exact, out.Difference = false, first(out.Difference, name(o)+": "+difference)
		}
	}
	return out, nil
}

func adopted(w *World, plan *migration.Plan) migration.Target {
	out := migration.Target{Exact: true}
	for _, m := range plan.Members {
		svc, ok := w.Services[m.Namespace+"/"+m.Name]
		if !ok {
			out.Exact, out.Difference = false, first(out.Difference, "Service "+m.Namespace+"/"+m.Name+" does not exist")
			continue
		}
		t := migration.Adopted(svc, plan)
		out.Exact, out.Any, out.Difference = out.Exact && t.Exact, out.Any || t.Any, first(out.Difference, t.Difference)
	}
	return out
}

// GetLike reads the live object of o; found is false if it does not exist, or its kind is not served.
func GetLike(ctx context.Context, r client.Reader, o *unstructured.Unstructured) (live *unstructured.Unstructured, found bool, err error) {
	live = &unstructured.Unstructured{}
	live.SetGroupVersionKind(o.GroupVersionKind())
	err = r.Get(ctx, client.ObjectKeyFromObject(o), live)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return live, false, nil
	}
	if err != nil {
		return live, false, fmt.Errorf("reading %s: %w", name(o), err)
	}
	return live, true, nil
}

func name(o *unstructured.Unstructured) string {
	return o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// live are the objects that gateway.Read wants: the targets as they are, and the Service behind a Gateway.
func (l *Looker) live(ctx context.Context, r client.Reader, w *World, want []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, o := range want {
		x, found, err := GetLike(ctx, r, o)
		if err != nil {
			return nil, err
		}
		if found {
			out = append(out, x)
		}
	}
	behind, err := l.behind(w, want)
	return append(out, behind...), err
}

// behind are the Services behind our Gateway, from the cache: the generated one, or the static one.
func (l *Looker) behind(w *World, want []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	var errs error
	for i := range w.services {
		s := &w.services[i]
		if !ofGateway(w, s) || !slices.ContainsFunc(want, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Gateway" }) {
			continue
		}
		u, err := toUnstructured(s)
		errs = errors.Join(errs, err)
		if u != nil {
			out = append(out, u)
		}
	}
	return out, errs
}

func ingress(s *corev1.Service) []netip.Addr {
	var out []netip.Addr
	for _, in := range s.Status.LoadBalancer.Ingress {
		if a, err := netip.ParseAddr(in.IP); err == nil {
			out = append(out, a)
		}
	}
	return out
}
