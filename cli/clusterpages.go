package cli

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pageSize of a list, so that a big cluster neither times out nor has to be held twice.
const pageSize = 500

// kindOf is the kind of a list's items.
func kindOf(list client.ObjectList) string {
	name := fmt.Sprintf("%T", list)
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] == '.' {
			return name[i+1 : len(name)-len("List")]
		}
	}
	return name
}

// each lists page by page and hands every object on, once all of them are read. A page that came too late (410) starts the
// list again, unpaged.
func each(ctx context.Context, r client.Reader, list client.ObjectList, keep func(client.Object), options ...client.ListOption) error {
	objects, err := pages(ctx, r, list, 0, options)
	if apierrors.IsResourceExpired(err) {
		objects, err = page(ctx, r, list, options)
	}
	if err != nil {
		return err
	}
	for _, object := range objects {
		keep(object)
	}
	return nil
}

// errTooManyObjects ends a list that is longer than it may be.
var errTooManyObjects = errors.New("there are more objects than are read")

// pages reads at most most objects, or all of them where most is 0. What the inventory never reads of an object is dropped
// page by page.
func pages(ctx context.Context, r client.Reader, list client.ObjectList, most int, options []client.ListOption) ([]client.Object, error) {
	var out []client.Object
	for token := ""; ; {
		objects, err := page(ctx, r, list, append([]client.ListOption{client.Limit(pageSize), client.Continue(token)}, options...))
		if err != nil {
			return nil, err
		}
		out = append(out, objects...)
		if token = list.GetContinue(); token == "" {
			return out, nil
		}
		if most > 0 && len(out) >= most {
			return out, errTooManyObjects
		}
	}
}

func page(ctx context.Context, r client.Reader, list client.ObjectList, options []client.ListOption) ([]client.Object, error) {
	if err := meta.SetList(list, nil); err != nil {
		return nil, err
	}
	list.SetContinue("")
	if err := r.List(ctx, list, options...); err != nil {
		return nil, err
	}
	items, err := meta.ExtractListWithAlloc(list)
	if err != nil {
		return nil, err
	}
	var out []client.Object
	for _, item := range items {
		if object, kept := lighten(item); kept {
			out = append(out, object)
		}
	}
	return out, nil
}
