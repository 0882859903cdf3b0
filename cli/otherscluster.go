package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/inventory"
)

// The bounds of what kinds that are not compiled in may cost.
const (
	// maxOthers objects of one kind are read.
	maxOthers = 5000
	// maxEmbedders is how many kinds are read because their schema has the field.
	maxEmbedders = 50
)

// seeOthers reads the kinds of other projects that the inventory knows, each in the first version that is served. One that
// is not installed has no objects.
func (r clusterReader) seeOthers(ctx context.Context) {
	versions := map[schema.GroupKind][]string{}
	var kinds []schema.GroupKind
	for _, k := range inventory.OtherKinds() {
		if versions[k.GroupKind()] == nil {
			kinds = append(kinds, k.GroupKind())
		}
		versions[k.GroupKind()] = append(versions[k.GroupKind()], k.Version)
	}
	for _, kind := range kinds {
		mapping, err := r.RESTMapper().RESTMapping(kind, versions[kind]...)
		if err == nil {
			err = r.listOther(ctx, mapping, func(map[string]any) bool { return true })
		}
		r.see(kind.Kind+"."+kind.Group, err)
	}
}

// listOther keeps the objects of a kind that are wanted.
func (r clusterReader) listOther(ctx context.Context, mapping *meta.RESTMapping, wanted func(map[string]any) bool) error {
	keep := func(objects []client.Object) {
		for _, object := range objects {
			if u, ok := object.(*unstructured.Unstructured); ok && wanted(u.Object) {
				r.addOther(u)
			}
		}
	}
	objects, err := r.someOf(ctx, mapping)
	if !apierrors.IsForbidden(err) || r.namespace == "" || mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		keep(objects)
		return err
	}
	inside, insideErr := r.someOf(ctx, mapping, client.InNamespace(r.namespace))
	keep(inside)
	if insideErr != nil {
		return insideErr
	}
	return fmt.Errorf("only namespace %s may be read: %w", r.namespace, err)
}

// someOf reads what may be read of one kind; what was read before an error is returned with it.
func (r clusterReader) someOf(ctx context.Context, mapping *meta.RESTMapping, options ...client.ListOption) ([]client.Object, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(mapping.GroupVersionKind.GroupVersion().WithKind(mapping.GroupVersionKind.Kind + "List"))
	objects, err := pages(ctx, r, list, maxOthers, options)
	if errors.Is(err, errTooManyObjects) {
		return objects, fmt.Errorf("%w: the first %d were, the others were not looked at", err, len(objects))
	}
	return objects, err
}

// seeEmbedders reads the kinds whose schema has a field externalIPs anywhere, because their operators copy it into a
// Service. A kind without a schema for what it holds is not found this way.
func (r clusterReader) seeEmbedders(ctx context.Context) {
	definitions := &unstructured.UnstructuredList{}
	definitions.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinitionList"})
	var kinds []schema.GroupVersionKind
	err := eachDefinition(ctx, r, definitions, func(u *unstructured.Unstructured) {
		if gvk, embeds := embedder(u); embeds && !describesKinds(gvk) && !isOther(gvk.GroupKind()) {
			kinds = append(kinds, gvk)
		}
	})
	r.see("CustomResourceDefinition", err)
	if len(kinds) > maxEmbedders {
		r.see("CustomResourceDefinition", fmt.Errorf("%d kinds have a field externalIPs, and only the first %d were read", len(kinds), maxEmbedders))
	}
	for _, kind := range kinds[:min(len(kinds), maxEmbedders)] {
		mapping, err := r.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		if err == nil {
			err = r.listOther(ctx, mapping, func(object map[string]any) bool { return carries(object) })
		}
		r.see(kind.Kind+"."+kind.Group, err)
	}
}

// definitionPage is small: a schema may be as large as a thousand Services.
const definitionPage = 20

// eachDefinition looks at page after page and keeps none.
func eachDefinition(ctx context.Context, r client.Reader, list *unstructured.UnstructuredList, look func(*unstructured.Unstructured)) error {
	for token := ""; ; {
		list.Items = nil
		if err := r.List(ctx, list, client.Limit(definitionPage), client.Continue(token)); err != nil {
			return err
		}
		for i := range list.Items {
			look(&list.Items[i])
		}
		if token = list.GetContinue(); token == "" {
			return nil
		}
	}
}

// embedder tells the kind that a definition defines, in its first served version, and whether its schema has the field.
func embedder(definition *unstructured.Unstructured) (gvk schema.GroupVersionKind, embeds bool) {
	gvk.Group, _, _ = unstructured.NestedString(definition.Object, "spec", "group")
	gvk.Kind, _, _ = unstructured.NestedString(definition.Object, "spec", "names", "kind")
	field, _, _ := unstructured.NestedFieldNoCopy(definition.Object, "spec", "versions")
	versions, _ := field.([]any)
	at := slices.IndexFunc(versions, func(v any) bool {
		version, ok := v.(map[string]any)
		return ok && version["served"] == true
	})
	if at < 0 {
		return gvk, false
	}
	version, _ := versions[at].(map[string]any)
	gvk.Version, _ = version["name"].(string)
	return gvk, hasField(version["schema"])
}

// hasField tells whether a schema has a property externalIPs at any depth.
func hasField(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		if properties, ok := v["properties"].(map[string]any); ok && properties[fieldName] != nil {
			return true
		}
		for _, member := range v {
			if hasField(member) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasField)
	}
	return false
}
