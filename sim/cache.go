package sim

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// cache is a reader over the stored objects that encodes nothing: a walk looks thousands of times for each change.
type cache struct {
	scheme  *runtime.Scheme
	objects map[schema.GroupKind]map[types.NamespacedName]client.Object
	// order of the objects of a kind, until one of them changes.
	order map[schema.GroupKind][]client.Object
}

var _ client.Reader = (*cache)(nil)

func newCache(s *runtime.Scheme) *cache {
	return &cache{
		scheme: s, objects: map[schema.GroupKind]map[types.NamespacedName]client.Object{}, order: map[schema.GroupKind][]client.Object{},
	}
}

func (c *cache) put(gk schema.GroupKind, obj client.Object) {
	if c.objects[gk] == nil {
		c.objects[gk] = map[types.NamespacedName]client.Object{}
	}
	c.objects[gk][client.ObjectKeyFromObject(obj)] = obj
	delete(c.order, gk)
}

func (c *cache) drop(gk schema.GroupKind, key types.NamespacedName) {
	delete(c.objects[gk], key)
	delete(c.order, gk)
}

// sortedObjects are the stored objects of a kind, by namespace and name. They are not copies: nobody may change them.
func sortedObjects(c *cache, gk schema.GroupKind) []client.Object {
	if c.order[gk] == nil {
		c.order[gk] = slices.SortedFunc(maps.Values(c.objects[gk]), func(a, b client.Object) int {
			return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
		})
	}
	return c.order[gk]
}

// Get copies one object.
func (c *cache) Get(_ context.Context, key client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	gvk, err := c.gvk(out)
	if err != nil {
		return err
	}
	stored, ok := c.objects[gvk.GroupKind()][key]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, key.Name)
	}
	if u, untyped := out.(*unstructured.Unstructured); untyped {
		return toUntyped(stored, gvk, u)
	}
	return copyInto(stored, out)
}

// List copies the objects that match, by namespace and name.
func (c *cache) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	gvk, err := c.gvk(list)
	if err != nil {
		return err
	}
	gvk.Kind = gvk.Kind[:len(gvk.Kind)-len("List")]
	var o client.ListOptions
	o.ApplyOptions(opts)
	if o.FieldSelector != nil {
		return fmt.Errorf("field selector %s: not served by this cache", o.FieldSelector)
	}
	shared := o.UnsafeDisableDeepCopy != nil && *o.UnsafeDisableDeepCopy
	var items []runtime.Object
	for _, stored := range sortedObjects(c, gvk.GroupKind()) {
		if !matches(stored, o) {
			continue
		}
		item, err := listed(list, stored, gvk, shared)
		if err != nil {
			return err
		}
		items = append(items, item)
	}
	return meta.SetList(list, items)
}

func matches(obj client.Object, o client.ListOptions) bool {
	return (o.Namespace == "" || o.Namespace == obj.GetNamespace()) &&
		(o.LabelSelector == nil || o.LabelSelector.Matches(labels.Set(obj.GetLabels())))
}

func listed(list client.ObjectList, obj client.Object, gvk schema.GroupVersionKind, shared bool) (runtime.Object, error) {
	_, untyped := list.(*unstructured.UnstructuredList)
	switch {
	case !untyped && shared:
		return obj, nil
	case !untyped:
		return obj.DeepCopyObject(), nil
	}
	u := &unstructured.Unstructured{}
	return u, toUntyped(obj, gvk, u)
}

func (c *cache) gvk(obj runtime.Object) (schema.GroupVersionKind, error) {
	if gvk := obj.GetObjectKind().GroupVersionKind(); gvk.Kind != "" {
		return gvk, nil
	}
	kinds, _, err := c.scheme.ObjectKinds(obj)
	if err != nil || len(kinds) == 0 {
		return schema.GroupVersionKind{}, fmt.Errorf("kind of %T: %w", obj, err)
	}
	return kinds[0], nil
}

func toUntyped(obj client.Object, gvk schema.GroupVersionKind, out *unstructured.Unstructured) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return err
	}
	out.Object = fields
	out.SetGroupVersionKind(gvk)
	return nil
}

// copyInto copies by way of JSON only where the types differ.
func copyInto(from, to client.Object) error {
	if assign(from.DeepCopyObject(), to) {
		return nil
	}
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	clearObject(to)
	return json.Unmarshal(text, to)
}
