package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/migration"
)

func (a *app) exportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "export NAME",
		Short: "Print every target object of an entry point for Git, as it stands in the cluster",
		Long: `Print every target object of an entry point for Git, as it stands in the cluster: no status, no field managers, none of
Offramp's own labels and annotations, nothing that only this cluster knows. For strategy Adopt these are the Services
themselves. Until the walk is forgotten the objects are Offramp's: who applies them before that is refused, or repaired.`,
		Example:           "  kubectl offramp export shop-web-1a2b3c4d > shop-web.yaml",
		Args:              oneName,
		ValidArgsFunction: a.completeEntryPoints,
		RunE:              func(c *cobra.Command, args []string) error { return a.runExport(c.Context(), args[0]) },
	}
}

func (a *app) runExport(ctx context.Context, name string) error {
	conn, err := a.open()
	if err != nil {
		return err
	}
	rec, err := recordOf(ctx, conn.Client, name)
	if err != nil {
		return err
	}
	if len(rec.Spec.Plans) == 0 {
		return fmt.Errorf("MigrationRecord %s holds no plan, so its target objects are not known", rec.Name)
	}
	var plan migration.Plan
	if err := migration.DecodeDocument(rec.Spec.Plans[len(rec.Spec.Plans)-1].Plan, &plan); err != nil {
		return fmt.Errorf("plan in MigrationRecord %s: %w", rec.Name, err)
	}
	targets, err := targetsOf(&plan)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(rec.Spec.Journal, func(s v1alpha1.Stamp) bool { return s.Kind == v1alpha1.StampForgotten }) {
		a.say("%s is not forgotten: until then these objects are Offramp's; keep them, and apply them after that.", plan.EntryPoint)
	}
	return a.exportObjects(ctx, conn.Client, targets)
}

// targetsOf are the objects that serve the entry point: those of the plan, or, adopted, its members.
func targetsOf(plan *migration.Plan) ([]*unstructured.Unstructured, error) {
	if plan.Strategy != v1alpha1.StrategyAdopt {
		return plan.Targets()
	}
	var out []*unstructured.Unstructured
	for _, m := range plan.Members {
		u := &unstructured.Unstructured{}
		u.SetAPIVersion("v1")
		u.SetKind("Service")
		u.SetNamespace(m.Namespace)
		u.SetName(m.Name)
		out = append(out, u)
	}
	return out, nil
}

func (a *app) exportObjects(ctx context.Context, c client.Reader, targets []*unstructured.Unstructured) error {
	var out strings.Builder
	missing := 0
	for _, o := range targets {
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(o.GroupVersionKind())
		err := c.Get(ctx, client.ObjectKeyFromObject(o), live)
		switch {
		case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
			missing++
			a.say("%s %s/%s does not exist and is left out", o.GetKind(), o.GetNamespace(), o.GetName())
			continue
		case err != nil:
			return fmt.Errorf("reading %s %s/%s: %w", o.GetKind(), o.GetNamespace(), o.GetName(), err)
		}
		text, err := marshalYAML(clean(live).Object)
		if err != nil {
			return fmt.Errorf("writing %s %s/%s: %w", o.GetKind(), o.GetNamespace(), o.GetName(), err)
		}
		out.WriteString("---\n" + string(text))
	}
	if err := a.print(out.String()); err != nil {
		return err
	}
	if missing > 0 {
		return errReported
	}
	return nil
}

// clean is the object as one would write it: without status, what the API server fills in, and Offramp's own marks.
func clean(live *unstructured.Unstructured) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{}}
	out.SetGroupVersionKind(live.GroupVersionKind())
	out.SetNamespace(live.GetNamespace())
	out.SetName(live.GetName())
	if labels := foreign(live.GetLabels()); len(labels) > 0 {
		out.SetLabels(labels)
	}
	if annotations := foreign(live.GetAnnotations()); len(annotations) > 0 {
		out.SetAnnotations(annotations)
	}
	content := live.DeepCopy().Object
	for key, value := range content {
		if key != "metadata" && key != "status" && key != "apiVersion" && key != "kind" {
			out.Object[key] = value
		}
	}
	if ip, _, _ := unstructured.NestedString(out.Object, "spec", "clusterIP"); live.GetKind() == "Service" && ip != corev1.ClusterIPNone {
		for _, field := range []string{"clusterIP", "clusterIPs", "healthCheckNodePort"} {
			unstructured.RemoveNestedField(out.Object, "spec", field)
		}
	}
	return out
}

// foreign leaves out what is Offramp's own, or kubectl's memory of a manifest.
func foreign(all map[string]string) map[string]string {
	out := maps.Clone(all)
	maps.DeleteFunc(out, func(key, _ string) bool {
		return strings.HasPrefix(key, v1alpha1.GroupVersion.Group+"/") || key == "kubectl.kubernetes.io/last-applied-configuration"
	})
	return out
}
