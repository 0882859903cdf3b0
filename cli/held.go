package cli

import (
	"context"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// held are objects from files, behind the same port as a cluster.
type held []client.Object

// Get implements client.Reader; objects of files are only ever listed.
func (h held) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{}, key.String())
}

// List implements client.Reader: it fills in the objects that have the type of the list's items.
func (h held) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	items, err := meta.GetItemsPtr(list)
	if err != nil {
		return fmt.Errorf("listing objects of files: %w", err)
	}
	element := reflect.TypeOf(items).Elem().Elem()
	var found []runtime.Object
	for _, object := range h {
		if reflect.TypeOf(object).Elem() == element {
			found = append(found, object)
		}
	}
	return meta.SetList(list, found)
}
