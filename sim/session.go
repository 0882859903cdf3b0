package sim

import (
	"context"
	"errors"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// funcs are the requests of a session. The fake client answers a dry run with nothing; the server's own rules answer here.
func (c *session) funcs() interceptor.Funcs {
	return interceptor.Funcs{
		Get: c.get, List: c.list, Create: c.create, Update: c.update, Patch: c.patch, Delete: c.delete, Apply: c.apply,
		SubResourceUpdate: c.updateSub, SubResourcePatch: c.patchSub,
	}
}

func (c *session) create(ctx context.Context, inner client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
	var o client.CreateOptions
	o.ApplyOptions(opts)
	dry := slices.Contains(o.DryRun, metav1.DryRunAll)
	return c.write(c.describe("create", obj, false), dry, func() error {
		if dry {
			return c.server.store.dryCreate(obj)
		}
		if err := inner.Create(ctx, obj, opts...); err != nil {
			return err
		}
		return c.answer(ctx, inner, obj)
	})
}

func (c *session) update(ctx context.Context, inner client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
	var o client.UpdateOptions
	o.ApplyOptions(opts)
	return c.write(c.describe("update", obj, false), slices.Contains(o.DryRun, metav1.DryRunAll), func() error {
		if slices.Contains(o.DryRun, metav1.DryRunAll) {
			return c.server.store.dryUpdate(obj)
		}
		if err := inner.Update(ctx, obj, opts...); err != nil {
			return err
		}
		return c.answer(ctx, inner, obj)
	})
}

// patch: a dry run is judged on the object that the patch would make.
func (c *session) patch(ctx context.Context, inner client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
	var o client.PatchOptions
	o.ApplyOptions(opts)
	dry := slices.Contains(o.DryRun, metav1.DryRunAll)
	return c.write(c.describe("patch", obj, false), dry, func() error {
		if dry {
			return asStatus(p, c.server.store.dryPatch(obj, p))
		}
		return asStatus(p, inner.Patch(ctx, obj, p, opts...))
	})
}

func (c *session) delete(ctx context.Context, inner client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
	var o client.DeleteOptions
	o.ApplyOptions(opts)
	dry := slices.Contains(o.DryRun, metav1.DryRunAll)
	return c.write(c.describe("delete", obj, false), dry, func() error {
		if dry {
			return nil
		}
		return c.server.deleteIf(ctx, inner, obj, o, opts)
	})
}

// deleteIf checks the UID precondition, which the fake client does not.
func (s *Server) deleteIf(
	ctx context.Context, inner client.WithWatch, obj client.Object, o client.DeleteOptions, opts []client.DeleteOption,
) error {
	if o.Preconditions != nil && o.Preconditions.UID != nil {
		var live metav1.PartialObjectMetadata
		gvk, err := s.fake.GroupVersionKindFor(obj)
		if err != nil {
			return err
		}
		live.SetGroupVersionKind(gvk)
		if err := inner.Get(ctx, client.ObjectKeyFromObject(obj), &live); err != nil {
			return err
		}
		if live.UID != *o.Preconditions.UID {
			return apierrors.NewConflict(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, obj.GetName(),
				errors.New("the UID in the precondition does not match the UID in record"))
		}
	}
	return inner.Delete(ctx, obj, opts...)
}

func (c *session) apply(ctx context.Context, inner client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	var o client.ApplyOptions
	o.ApplyOptions(opts)
	w := Write{Verb: "apply"}
	if named, ok := obj.(interface {
		GetName() *string
		GetKind() *string
		GetNamespace() *string
	}); ok {
		w.Kind, w.Namespace, w.Name = text(named.GetKind()), text(named.GetNamespace()), text(named.GetName())
	}
	dry := slices.Contains(o.DryRun, metav1.DryRunAll)
	return c.write(w, dry, func() error { return inner.Apply(ctx, obj, opts...) })
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (c *session) updateSub(
	ctx context.Context, inner client.Client, sub string, obj client.Object, opts ...client.SubResourceUpdateOption,
) error {
	return c.write(c.describe("update", obj, true), false, func() error { return inner.SubResource(sub).Update(ctx, obj, opts...) })
}

func (c *session) patchSub(
	ctx context.Context, inner client.Client, sub string, obj client.Object, p client.Patch, opts ...client.SubResourcePatchOption,
) error {
	return c.write(c.describe("patch", obj, true), false, func() error {
		return asStatus(p, inner.SubResource(sub).Patch(ctx, obj, p, opts...))
	})
}

// answer gives an untyped caller what the server stored, defaults and all; a typed object is changed in place.
func (c *session) answer(ctx context.Context, inner client.WithWatch, obj client.Object) error {
	if _, untyped := obj.(runtime.Unstructured); !untyped {
		return nil
	}
	err := inner.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	if apierrors.IsNotFound(err) {
		return nil // the update took the last finalizer off
	}
	return err
}

// asStatus: a JSON Patch that cannot be applied (a failed test, a path that is not there) is answered with 422 and no detail.
func asStatus(p client.Patch, err error) error {
	var known apierrors.APIStatus
	if err == nil || errors.As(err, &known) || errors.Is(err, errDead) || p.Type() != types.JSONPatchType {
		return err
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
		Message: "the server rejected our request due to an error in our request",
	}}
}
