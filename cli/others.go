package cli

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/cli/manifest"
	"offramp.dev/inventory"
)

// fieldName is the field that everything here is about.
const fieldName = "externalIPs"

// readOther keeps an object of a kind that is not compiled in: one that the inventory can read, or one that carries the
// field, because whoever turns it into a Service carries the field on.
func (c *collection) readOther(o manifest.Object) error {
	gvk := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind)
	known := isOther(gvk.GroupKind())
	if !known && (describesKinds(gvk) || !mayCarry(o.JSON)) {
		return nil
	}
	object := &unstructured.Unstructured{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(o.JSON, &object.Object); err != nil {
		return &DecodeError{Object: identify(o), Err: err}
	}
	if !known && !carries(object.Object) {
		return nil
	}
	// The items of a typed list need not say what they are.
	object.SetAPIVersion(o.APIVersion)
	object.SetKind(o.Kind)
	if metadata, found := object.Object["metadata"]; found {
		if _, isObject := metadata.(map[string]any); !isObject {
			return &DecodeError{Object: o.Kind, Field: "metadata", Err: errors.New("is not an object")}
		}
	}
	if object.GetName() == "" {
		return &DecodeError{Object: o.Kind, Field: "metadata.name", Err: errors.New("is missing; give the object a name")}
	}
	c.addOther(object)
	return c.remember(objectKey(o.Kind, object.GetNamespace(), object.GetName()), o.Origin, object.GetUID())
}

func (c *collection) addOther(object *unstructured.Unstructured) {
	object.SetManagedFields(nil)
	unstructured.RemoveNestedField(object.Object, "metadata", "annotations", corev1.LastAppliedConfigAnnotation)
	c.Others = append(c.Others, object)
}

func isOther(kind schema.GroupKind) bool {
	return slices.ContainsFunc(inventory.OtherKinds(), func(k schema.GroupVersionKind) bool { return k.GroupKind() == kind })
}

// describesKinds tells schemas and this project's own records, which name the field and carry no traffic.
func describesKinds(gvk schema.GroupVersionKind) bool {
	return gvk.Group == "apiextensions.k8s.io" || gvk.Group == v1alpha1.GroupVersion.Group
}

// mayCarry tells from the text alone that the field may be a member; a key may be written with escapes.
func mayCarry(raw []byte) bool {
	return bytes.Contains(raw, []byte(fieldName)) || bytes.Contains(raw, []byte(`\u00`))
}

// carries tells whether anything stands in a member externalIPs at any depth. What is read was nested 10,000 deep at most.
func carries(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for key, member := range v {
			if key == fieldName && !isEmpty(member) || carries(member) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, carries)
	}
	return false
}

func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	case string:
		return strings.TrimSpace(v) == ""
	case bool:
		return !v
	default:
		return false
	}
}

// readEndpoints takes the API server's addresses from the Endpoints of its Service, where no EndpointSlice says them.
func (c *collection) readEndpoints(o manifest.Object) error {
	if namespace, name := identity(o); namespace != metav1.NamespaceDefault || name != apiServerName {
		return nil
	}
	var endpoints apiServerEndpoints
	if err := kjson.UnmarshalCaseSensitivePreserveInts(o.JSON, &endpoints); err != nil {
		return &DecodeError{Object: identify(o), Err: err}
	}
	c.addEndpoints(endpoints)
	return nil
}

// apiServerName is the Service of the API server, in namespace default, and of its endpoints.
const apiServerName = "kubernetes"

// apiServerEndpoints is what is read of Endpoints.
type apiServerEndpoints struct {
	Subsets []struct {
		Addresses []struct {
			IP string `json:"ip"`
		} `json:"addresses"`
	} `json:"subsets"`
}

func (c *collection) addEndpoints(endpoints apiServerEndpoints) {
	for _, subset := range endpoints.Subsets {
		for _, address := range subset.Addresses {
			c.addAPIAddress(address.IP)
		}
	}
}
