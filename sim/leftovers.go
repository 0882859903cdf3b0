package sim

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"offramp.dev/addresspool"
	"offramp.dev/api/v1alpha1"
)

// leftovers print what a rehearsal left behind, without what may differ between two lives of a controller: every
// Service's shape, every name's records, every object of ours.
func (w *world) leftovers() string {
	var lines []string
	for gk, objects := range w.server.store.cache.objects {
		for key, obj := range objects {
			switch o := obj.(type) {
			case *corev1.Service:
				lines = append(lines, "Service "+key.String()+" "+shape(o))
			case *v1alpha1.AddressClaim:
				// Who came first to a shared address is a matter of order alone.
				holders := slices.Sorted(slices.Values(addresspool.EntryPoints(&o.Spec)))
				lines = append(lines, fmt.Sprintf("AddressClaim %s %v %v", o.Name, holders, o.Spec.Holders))
			case *v1alpha1.EntryPoint:
				c := meta.FindStatusCondition(o.Status.Conditions, "Ready")
				lines = append(lines, fmt.Sprintf("EntryPoint %s %v", o.Name, c != nil && c.Status == "True"))
			default:
				if obj.GetLabels()[v1alpha1.LabelEntryPoint] != "" {
					lines = append(lines, gk.Kind+" "+key.String())
				}
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n" + w.zones.Dump(false)
}

// shape is what a walk may change of a Service.
func shape(s *corev1.Service) string {
	class := ""
	if s.Spec.LoadBalancerClass != nil {
		class = *s.Spec.LoadBalancerClass
	}
	var ingress []string
	for _, in := range s.Status.LoadBalancer.Ingress {
		ingress = append(ingress, in.IP)
	}
	return fmt.Sprintf("type=%s class=%s policy=%s externalIPs=%v ports=%v ingress=%v released=%v",
		s.Spec.Type, class, s.Spec.ExternalTrafficPolicy, s.Spec.ExternalIPs, portsOf(s), ingress,
		s.Annotations[v1alpha1.AnnotationReleased] != "")
}
