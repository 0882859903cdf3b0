package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	kjson "sigs.k8s.io/json"

	"offramp.dev/addresspool/metallb"
	"offramp.dev/api/v1alpha1"
	"offramp.dev/cli/manifest"
)

// newScheme knows every kind that the plugin reads or writes.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, discoveryv1.AddToScheme, networkingv1.AddToScheme, gatewayv1.Install, v1alpha1.AddToScheme, metallb.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(fmt.Sprintf("kinds that are compiled in do not register: %v", err))
		}
	}
	return scheme
}

// newReadScheme knows the workloads too, which a cluster is asked for and nothing else needs.
func newReadScheme() *runtime.Scheme {
	scheme := newScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, batchv1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(fmt.Sprintf("kinds that are compiled in do not register: %v", err))
		}
	}
	return scheme
}

// newObject is an empty object of a kind that the inventory looks at, or nil. Versions that differ in name only are read
// as one.
func newObject(apiVersion, kind string) client.Object {
	switch apiVersion + " " + kind {
	case "v1 Service":
		return &corev1.Service{}
	case "v1 Node":
		return &corev1.Node{}
	case "v1 ConfigMap":
		return &corev1.ConfigMap{}
	case "discovery.k8s.io/v1 EndpointSlice":
		return &discoveryv1.EndpointSlice{}
	case "networking.k8s.io/v1 ServiceCIDR", "networking.k8s.io/v1beta1 ServiceCIDR":
		return &networkingv1.ServiceCIDR{}
	case "networking.k8s.io/v1 Ingress":
		return &networkingv1.Ingress{}
	case "networking.k8s.io/v1 NetworkPolicy":
		return &networkingv1.NetworkPolicy{}
	case "gateway.networking.k8s.io/v1 Gateway", "gateway.networking.k8s.io/v1beta1 Gateway":
		return &gatewayv1.Gateway{}
	case "gateway.networking.k8s.io/v1 GatewayClass", "gateway.networking.k8s.io/v1beta1 GatewayClass":
		return &gatewayv1.GatewayClass{}
	case "offramp.dev/v1alpha1 MigrationPolicy":
		return &v1alpha1.MigrationPolicy{}
	case "offramp.dev/v1alpha1 DNSZone":
		return &v1alpha1.DNSZone{}
	default:
		if workload := newWorkload(apiVersion, kind); workload != nil {
			return workload
		}
		return newPoolObject(apiVersion, kind)
	}
}

// newPoolObject is an empty object of MetalLB's, by its scheme alone.
func newPoolObject(apiVersion, kind string) client.Object {
	switch kind {
	case "IPAddressPool", "L2Advertisement", "BGPAdvertisement":
		empty, err := newScheme().New(schema.FromAPIVersionAndKind(apiVersion, kind))
		object, ok := empty.(client.Object)
		if err != nil || !ok {
			return nil
		}
		return object
	default:
		return nil
	}
}

// DecodeError says which field of which object is not what the API takes there.
type DecodeError struct {
	// Object is "Kind namespace/name", Field the path, if it is known.
	Object, Field string
	Err           error
}

// Error names object and field.
func (e *DecodeError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("%s: %v", e.Object, e.Err)
	}
	return fmt.Sprintf("%s: %s: %v", e.Object, e.Field, e.Err)
}

// Unwrap is the cause.
func (e *DecodeError) Unwrap() error { return e.Err }

// decode reads one object as the API server would: case matters, unknown fields do not.
func decode(o manifest.Object, into client.Object) error {
	_, err := decodeStrict(o, into)
	return err
}

// decodeStrict also tells the fields that stand there twice; the last one was read, as the API server would.
func decodeStrict(o manifest.Object, into client.Object) (doubles, err error) {
	strict, err := kjson.UnmarshalStrict(o.JSON, into, kjson.DisallowDuplicateFields)
	if err == nil {
		return doubled(o, strict), named(o, into)
	}
	return nil, undecodable(o, err)
}

func doubled(o manifest.Object, strict []error) error {
	if len(strict) == 0 {
		return nil
	}
	return &DecodeError{Object: identify(o), Err: fmt.Errorf("%w; the last one was read", errors.Join(strict...))}
}

// undecodable names object and field.
func undecodable(o manifest.Object, err error) error {
	out := &DecodeError{Object: identify(o), Err: err}
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		out.Field = mismatch.Field
		out.Err = fmt.Errorf("is a %s, and must be %s", mismatch.Value, article(mismatch.Type.String()))
	}
	return out
}

// article turns a Go type into words.
func article(goType string) string {
	switch {
	case strings.HasPrefix(goType, "[]"):
		return "a list"
	case strings.HasPrefix(goType, "map"), strings.Contains(goType, "."):
		return "an object or another value of type " + goType
	default:
		return "a " + goType
	}
}

// named refuses an object without a name and fills in the namespace that kubectl would.
func named(o manifest.Object, into client.Object) error {
	if into.GetName() == "" {
		return &DecodeError{Object: o.Kind, Field: "metadata.name", Err: errors.New("is missing; give the object a name")}
	}
	if into.GetNamespace() == "" && namespaced(into) {
		into.SetNamespace(corev1.NamespaceDefault)
	}
	return nil
}

func namespaced(o client.Object) bool {
	switch o.(type) {
	case *corev1.Node, *networkingv1.ServiceCIDR, *gatewayv1.GatewayClass, *v1alpha1.MigrationPolicy, *v1alpha1.DNSZone:
		return false
	default:
		return true
	}
}

// identify names an object that does not decode as well as it can be named.
func identify(o manifest.Object) string {
	namespace, name := identity(o)
	return o.Kind + " " + namespace + "/" + name
}

// unnamed stands for a name that is missing or no text.
const unnamed = "(unnamed)"

func identity(o manifest.Object) (namespace, name string) {
	var head struct {
		Metadata struct {
			Name      any `json:"name"`
			Namespace any `json:"namespace"`
		} `json:"metadata"`
	}
	namespace, name = corev1.NamespaceDefault, unnamed
	if json.Unmarshal(o.JSON, &head) != nil {
		return namespace, name
	}
	if s, ok := head.Metadata.Name.(string); ok && s != "" {
		name = s
	}
	if s, ok := head.Metadata.Namespace.(string); ok && s != "" {
		namespace = s
	}
	return namespace, name
}
