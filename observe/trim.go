package observe

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unique"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/api/v1alpha1"
)

const (
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
	// longText is where a foreign annotation's value is cut. What is read of them is shorter, or only whether they are there.
	longText = 64
	// sliceController writes the EndpointSlices of Services with a selector.
	sliceController = "endpointslice-controller.k8s.io"
)

// fieldOwned is what is kept of an owner of spec.externalIPs.
const fieldOwned = `{"f:spec":{"f:externalIPs":{}}}`

// Trim takes from an object of the cache what nothing here reads, so that a cluster of many Services fits into little memory.
// Keys of annotations stay, for plans name them: an object of the cache and the same one read live give the same plan. It
// changes the object in place and is meant as the transform of an informer, which shows it to nobody before.
func Trim(o any) (any, error) {
	switch o := o.(type) {
	case *corev1.Service:
		o.ManagedFields = owners(o.ManagedFields)
		trimAnnotations(o)
		o.Status.Conditions = nil
	case *corev1.Node:
		o.ManagedFields = nil
		trimAnnotations(o)
		trimNode(o)
	case *discoveryv1.EndpointSlice:
		o.ManagedFields, o.Annotations, o.OwnerReferences = nil, nil, nil
		trimEndpoints(o)
	case client.Object:
		o.SetManagedFields(nil)
	}
	return o, nil
}

// owners are those who would put the field back, and of what they own nothing else.
func owners(all []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	var out []metav1.ManagedFieldsEntry
	for _, e := range all {
		if e.FieldsV1 != nil && bytes.Contains(e.FieldsV1.GetRawBytes(), []byte(`"f:externalIPs"`)) {
			out = append(out, metav1.ManagedFieldsEntry{
				Manager: e.Manager, Operation: e.Operation, Subresource: e.Subresource, FieldsV1: metav1.NewFieldsV1(fieldOwned),
			})
		}
	}
	return out
}

// trimAnnotations cuts long values of others, and drops of kubectl's record all but the field. Keys, and labels, are the same
// few texts on every object: they are kept once.
func trimAnnotations(o client.Object) {
	annotations := make(map[string]string, len(o.GetAnnotations()))
	for key, value := range o.GetAnnotations() {
		switch {
		case key == lastApplied:
			value = appliedField(value)
		case len(value) > longText && !published(key):
			value = strings.Clone(value[:longText])
		}
		annotations[once(key)] = value
	}
	labels := make(map[string]string, len(o.GetLabels()))
	for key, value := range o.GetLabels() {
		labels[once(key)] = once(value)
	}
	o.SetAnnotations(annotations)
	o.SetLabels(labels)
}

func once(text string) string { return unique.Make(text).Value() }

// published tells whether an annotation is a list that is read to its end: names and addresses.
func published(key string) bool {
	return slices.ContainsFunc([]string{v1alpha1.GroupVersion.Group + "/", "external-dns.", "metallb."}, func(prefix string) bool {
		return strings.HasPrefix(key, prefix)
	})
}

// appliedField is what is kept of kubectl's record: that it holds the field. A record that cannot be read stays as it is
// as long as it is short.
func appliedField(text string) string {
	var record struct {
		Spec struct {
			ExternalIPs []string `json:"externalIPs,omitempty"`
		} `json:"spec"`
	}
	if err := json.Unmarshal([]byte(text), &record); err != nil {
		if len(text) > longText {
			return ""
		}
		return text
	}
	if len(record.Spec.ExternalIPs) == 0 {
		return ""
	}
	kept, err := json.Marshal(record)
	if err != nil {
		return ""
	}
	return string(kept)
}

// trimNode keeps addresses, ranges, readiness and what the node says of itself.
func trimNode(n *corev1.Node) {
	s := n.Status
	n.Status = corev1.NodeStatus{Addresses: s.Addresses, NodeInfo: s.NodeInfo}
	for _, c := range s.Conditions {
		if c.Type == corev1.NodeReady {
			n.Status.Conditions = []corev1.NodeCondition{{Type: c.Type, Status: c.Status}}
		}
	}
}

// trimEndpoints keeps addresses and conditions. In a slice that the cluster's controller writes one endpoint stands for all,
// a ready one if there is one: the question is only whether there is.
func trimEndpoints(s *discoveryv1.EndpointSlice) {
	s.Ports = nil
	if s.Labels[discoveryv1.LabelManagedBy] == sliceController && len(s.Endpoints) > 0 {
		s.Endpoints = []discoveryv1.Endpoint{s.Endpoints[max(0, slices.IndexFunc(s.Endpoints, isReady))]}
	}
	for i := range s.Endpoints {
		s.Endpoints[i] = discoveryv1.Endpoint{Addresses: s.Endpoints[i].Addresses, Conditions: s.Endpoints[i].Conditions}
	}
	kept := map[string]string{}
	for _, key := range []string{discoveryv1.LabelServiceName, discoveryv1.LabelManagedBy} {
		if v, ok := s.Labels[key]; ok {
			kept[key] = v
		}
	}
	s.Labels = kept
}

// Ready tells whether one of the endpoints gets traffic.
func Ready(s *discoveryv1.EndpointSlice) bool { return slices.ContainsFunc(s.Endpoints, isReady) }

func isReady(e discoveryv1.Endpoint) bool {
	return len(e.Addresses) > 0 && (e.Conditions.Ready == nil || *e.Conditions.Ready)
}
