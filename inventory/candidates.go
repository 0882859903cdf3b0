package inventory

import corev1 "k8s.io/api/core/v1"

// Candidates are the names that a Service's annotations bring, valid, sorted and at most MaxNames. They grant nothing: a
// name belongs to an entry point only while its live answer holds one of its addresses.
func Candidates(svc *corev1.Service) []string {
	names, _ := candidates(svc)
	return names[:min(len(names), MaxNames)]
}
