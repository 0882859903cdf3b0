package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// store keeps objects and applies, at the only place that every request passes, what an API server does to them.
type store struct {
	testing.ObjectTracker
	server  *Server
	applied map[string][]byte
	// changes are the objects that were written, in order; whoever wants to know takes them.
	changes    []ref
	cache      *cache
	uids       int64
	clusterIPs int
	nodePorts  int32
}

// ref names one object.
type ref struct{ kind, namespace, name string }

func newStore(s *Server, inner testing.ObjectTracker) *store {
	return &store{ObjectTracker: inner, server: s, applied: map[string][]byte{}, cache: newCache(s.scheme)}
}

// take gives the changes since the last call.
func (t *store) take() []ref {
	out := t.changes
	t.changes = nil
	return out
}

// note remembers that obj was stored, or that it is gone.
func (t *store) note(obj runtime.Object, gone bool) {
	stored, ok := obj.DeepCopyObject().(client.Object)
	gk := t.kind(obj)
	if !ok {
		return
	}
	if gone {
		t.cache.drop(gk, client.ObjectKeyFromObject(stored))
	} else {
		t.cache.put(gk, stored)
	}
	t.changes = append(t.changes, ref{gk.Kind, stored.GetNamespace(), stored.GetName()})
}

func (t *store) kind(obj runtime.Object) schema.GroupKind {
	kinds, _, err := t.server.scheme.ObjectKinds(obj)
	if err != nil || len(kinds) == 0 {
		return obj.GetObjectKind().GroupVersionKind().GroupKind()
	}
	return kinds[0].GroupKind()
}

// Create assigns UID, time and generation, and drops the status of kinds whose status is a subresource.
func (t *store) Create(gvr schema.GroupVersionResource, obj runtime.Object, ns string, opts ...metav1.CreateOptions) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	if err := t.server.admit(nil, obj); err != nil {
		return err
	}
	t.uids++
	m.SetUID(types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", t.uids)))
	m.SetCreationTimestamp(metav1.NewTime(t.server.now()))
	if counted(obj) {
		m.SetGeneration(1)
	}
	if err := t.ObjectTracker.Create(gvr, obj, ns, opts...); err != nil {
		return err
	}
	t.note(obj, false)
	return nil
}

// Update stores what admission leaves of it.
func (t *store) Update(gvr schema.GroupVersionResource, obj runtime.Object, ns string, opts ...metav1.UpdateOptions) error {
	old, err := t.before(gvr, obj, ns)
	if err != nil {
		return err
	}
	if err := t.server.admit(old, obj); err != nil {
		return err
	}
	if err := bump(old, obj); err != nil {
		return err
	}
	if err := t.ObjectTracker.Update(gvr, obj, ns, opts...); err != nil {
		return err
	}
	told := len(t.changes)
	t.note(obj, false)
	if unchanged(old, obj) {
		t.changes = t.changes[:told]
	}
	return nil
}

// unchanged: an API server tells nobody of a write that changes nothing.
func unchanged(old, obj runtime.Object) bool {
	a, b := old.DeepCopyObject(), obj.DeepCopyObject()
	for _, o := range []runtime.Object{a, b} {
		m, err := meta.Accessor(o)
		if err != nil {
			return false
		}
		m.SetResourceVersion("")
		m.SetManagedFields(nil)
	}
	return reflect.DeepEqual(a, b)
}

// Patch is called with the patched object.
func (t *store) Patch(gvr schema.GroupVersionResource, obj runtime.Object, ns string, _ ...metav1.PatchOptions) error {
	return t.Update(gvr, obj, ns)
}

// Apply emulates server-side apply for one manager: what it stated before and no longer states goes, the rest is merged.
// Conflicts between managers are not emulated.
func (t *store) Apply(gvr schema.GroupVersionResource, obj runtime.Object, ns string, _ ...metav1.PatchOptions) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	stated, err := stated(obj)
	if err != nil {
		return err
	}
	key := gvr.String() + "/" + ns + "/" + m.GetName()
	live, err := t.Get(gvr, ns, m.GetName())
	if apierrors.IsNotFound(err) {
		t.applied[key] = stated
		return t.create(gvr, obj, ns)
	}
	if err != nil {
		return err
	}
	merged, err := merge(t.applied[key], stated, live)
	if err != nil {
		return err
	}
	if err := t.Update(gvr, merged, ns); err != nil {
		return err
	}
	t.applied[key] = stated
	return nil
}

func (t *store) create(gvr schema.GroupVersionResource, obj runtime.Object, ns string) error {
	typed, err := t.server.typed(obj)
	if err != nil {
		return err
	}
	return t.Create(gvr, typed, ns)
}

// Delete notes what is gone.
func (t *store) Delete(gvr schema.GroupVersionResource, ns, name string, opts ...metav1.DeleteOptions) error {
	old, err := t.Get(gvr, ns, name)
	if err != nil {
		return err
	}
	delete(t.applied, gvr.String()+"/"+ns+"/"+name)
	if err := t.ObjectTracker.Delete(gvr, ns, name, opts...); err != nil {
		return err
	}
	t.note(old, true)
	return nil
}

func (t *store) before(gvr schema.GroupVersionResource, obj runtime.Object, ns string) (runtime.Object, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	return t.Get(gvr, ns, m.GetName())
}

// dryCreate answers a dry run: the same rules, nothing stored.
func (t *store) dryCreate(obj client.Object) error {
	typed, err := t.server.typed(obj.DeepCopyObject())
	if err != nil {
		return err
	}
	return t.server.admit(nil, typed)
}

func (t *store) dryUpdate(obj client.Object) error {
	typed, err := t.server.typed(obj.DeepCopyObject())
	if err != nil {
		return err
	}
	old, err := t.live(obj)
	if err != nil {
		return err
	}
	return t.server.admit(old, typed)
}

func (t *store) live(obj client.Object) (runtime.Object, error) {
	gvk, err := t.server.fake.GroupVersionKindFor(obj)
	if err != nil {
		return nil, err
	}
	gvr, _ := meta.UnsafeGuessKindToResource(gvk)
	return t.Get(gvr, obj.GetNamespace(), obj.GetName())
}

// dryPatch judges the object that a JSON or merge patch would make.
func (t *store) dryPatch(obj client.Object, p client.Patch) error {
	old, err := t.live(obj)
	if err != nil {
		return err
	}
	text, err := json.Marshal(old)
	if err != nil {
		return err
	}
	data, err := p.Data(obj)
	if err != nil {
		return err
	}
	if text, err = patched(p.Type(), text, data); err != nil {
		return err
	}
	changed, err := t.server.decode(old, text)
	if err != nil {
		return err
	}
	return t.server.admit(old, changed)
}

func patched(kind types.PatchType, text, data []byte) ([]byte, error) {
	switch kind {
	case types.JSONPatchType:
		ops, err := jsonpatch.DecodePatch(data)
		if err != nil {
			return nil, err
		}
		return ops.Apply(text)
	case types.MergePatchType:
		return jsonpatch.MergePatch(text, data)
	case types.StrategicMergePatchType, types.ApplyYAMLPatchType, types.ApplyCBORPatchType:
	}
	return nil, errors.New("dry run of patch type " + string(kind) + " is not emulated")
}

// counted tells whether the server counts generations for this kind.
func counted(obj runtime.Object) bool {
	switch group := reflect.TypeOf(obj).Elem().PkgPath(); {
	case strings.HasPrefix(group, "offramp.dev/"), strings.HasPrefix(group, "sigs.k8s.io/gateway-api/"):
		return true
	}
	return false
}
