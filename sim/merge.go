package sim

import (
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// stated is what an apply says of an object: everything but what the server itself writes.
func stated(obj runtime.Object) ([]byte, error) {
	fields, err := fieldsOf(obj)
	if err != nil {
		return nil, err
	}
	delete(fields, "status")
	if m, ok := fields["metadata"].(map[string]any); ok {
		for _, k := range []string{"resourceVersion", "uid", "generation", "creationTimestamp", "managedFields", "deletionTimestamp"} {
			delete(m, k)
		}
	}
	return json.Marshal(fields)
}

// merge lays what is stated over the live object and takes away what was stated before and no longer is.
func merge(before, now []byte, live runtime.Object) (runtime.Object, error) {
	text, err := json.Marshal(live)
	if err != nil {
		return nil, err
	}
	if before == nil {
		before = now
	}
	out := live.DeepCopyObject()
	lookup, err := strategicpatch.NewPatchMetaFromStruct(out)
	if err != nil {
		return nil, err
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(before, now, text, lookup, true)
	if err != nil {
		return nil, fmt.Errorf("cannot apply: %w", err)
	}
	if text, err = strategicpatch.StrategicMergePatch(text, patch, out); err != nil {
		return nil, fmt.Errorf("cannot apply: %w", err)
	}
	clearObject(out)
	return out, json.Unmarshal(text, out)
}

func clearObject(obj runtime.Object) {
	v := reflect.ValueOf(obj).Elem()
	v.Set(reflect.Zero(v.Type()))
}

// typed is obj as the scheme's own type, if it has one.
func (s *Server) typed(obj runtime.Object) (runtime.Object, error) {
	if _, untyped := obj.(runtime.Unstructured); !untyped {
		return obj, nil
	}
	gvk := obj.GetObjectKind().GroupVersionKind()
	if !s.scheme.Recognizes(gvk) {
		return obj, nil
	}
	out, err := s.scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	return out, json.Unmarshal(text, out)
}

// decode reads text into a new object of like's type.
func (s *Server) decode(like runtime.Object, text []byte) (runtime.Object, error) {
	out := like.DeepCopyObject()
	clearObject(out)
	return out, json.Unmarshal(text, out)
}

// bump counts the generation up when anything but metadata and status changed.
func bump(old, obj runtime.Object) error {
	if !counted(obj) {
		return nil
	}
	a, err := meta.Accessor(old)
	if err != nil {
		return err
	}
	b, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	before, err := specOf(old)
	if err != nil {
		return err
	}
	after, err := specOf(obj)
	if err != nil {
		return err
	}
	b.SetGeneration(a.GetGeneration())
	if !reflect.DeepEqual(before, after) {
		b.SetGeneration(a.GetGeneration() + 1)
	}
	return nil
}

func specOf(obj runtime.Object) (any, error) {
	fields, err := fieldsOf(obj)
	if err != nil {
		return nil, err
	}
	return fields["spec"], nil
}

func fieldsOf(obj runtime.Object) (map[string]any, error) {
	text, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	return fields, json.Unmarshal(text, &fields)
}

// assign sets *to to *from where both are of one type.
func assign(from runtime.Object, to runtime.Object) bool {
	a, b := reflect.ValueOf(from), reflect.ValueOf(to)
	if a.Type() != b.Type() {
		return false
	}
	b.Elem().Set(a.Elem())
	return true
}
