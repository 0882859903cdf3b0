package gateway

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
)

// objectOf is how findings and notes name a Service. The name may come from a file: nothing else has checked it.
func objectOf(svc *corev1.Service) string {
	full := svc.Namespace + "/" + svc.Name
	if !legalName(svc) {
		return "Service " + shown(full)
	}
	return "Service " + full
}

func legalName(svc *corev1.Service) bool {
	return len(validation.IsDNS1123Label(svc.Namespace)) == 0 && len(validation.IsDNS1123Label(svc.Name)) == 0
}

// usable returns the Services that can be converted, each once, by namespace and name, with the API server's defaults
// filled in. What the API server would refuse, and what serves nothing, is reported.
func usable(r *report, entryPoint string, services []*corev1.Service) []*corev1.Service {
	out := []*corev1.Service{}
	for _, svc := range services {
		if svc == nil || !servesSomething(r, svc) || !wellFormed(r, svc) {
			continue
		}
		out = append(out, withDefaults(svc))
	}
	slices.SortStableFunc(out, compareServices)
	out = slices.CompactFunc(out, func(a, b *corev1.Service) bool { return compareServices(a, b) == 0 })
	if len(out) == 0 && !r.blocked() {
		r.block(ReasonNoService, "EntryPoint "+entryPoint, "the entry point has no Service to convert", "name its members in spec.members")
	}
	return out
}

func compareServices(a, b *corev1.Service) int {
	if c := strings.Compare(a.Namespace, b.Namespace); c != 0 {
		return c
	}
	return strings.Compare(a.Name, b.Name)
}

func servesSomething(r *report, svc *corev1.Service) bool {
	why := ""
	switch {
	case svc.Spec.Type == corev1.ServiceTypeExternalName:
		why = "a Service of type ExternalName is only an alias in DNS"
	case svc.Spec.ClusterIP == corev1.ClusterIPNone:
		why = "a headless Service has no address that kube-proxy serves"
	case len(svc.Spec.Ports) == 0:
		why = "a Service without ports serves nothing"
	default:
		return true
	}
	r.block(ReasonNothingServed, objectOf(svc)+" spec", why+", so its externalIPs are inert", "remove spec.externalIPs from the Service")
	return false
}

// wellFormed checks what becomes part of a target object. A live Service passes always; one from a file may not.
func wellFormed(r *report, svc *corev1.Service) bool {
	field, why := illFormed(svc)
	if why == "" {
		return true
	}
	r.block(ReasonBadService, objectOf(svc)+" "+field, "the API server would refuse this Service: "+field+" "+why,
		"take the Service from the cluster (kubectl get service -o yaml) or correct the file")
	return false
}

func illFormed(svc *corev1.Service) (field, why string) {
	switch {
	case !legalName(svc):
		return "metadata.name", "and namespace must be DNS labels"
	case !legalSelector(svc.Spec.Selector):
		return "spec.selector", "is not a legal set of labels"
	default:
		return badPort(svc.Spec.Ports)
	}
}

func legalSelector(selector map[string]string) bool {
	for key, value := range selector {
		if len(validation.IsQualifiedName(key)) > 0 || len(validation.IsValidLabelValue(value)) > 0 {
			return false
		}
	}
	return true
}

func badPort(ports []corev1.ServicePort) (field, why string) {
	names, numbers := map[string]bool{}, map[portKey]bool{}
	for _, p := range ports {
		key := keyOf(p)
		switch {
		case len(validation.IsValidPortNum(int(p.Port))) > 0:
			return "spec.ports.port", "is not between 1 and 65535"
		case !slices.Contains([]corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}, key.protocol):
			return "spec.ports.protocol", shown(string(p.Protocol)) + " is none of TCP, UDP, SCTP"
		case !legalPortName(p.Name, len(ports)):
			return "spec.ports.name", shown(p.Name) + " is no DNS label"
		case !legalTargetPort(p.TargetPort):
			return "spec.ports.targetPort", shown(p.TargetPort.String()) + " is neither a port number nor the name of one"
		case p.AppProtocol != nil && len(validation.IsQualifiedName(*p.AppProtocol)) > 0:
			return "spec.ports.appProtocol", shown(*p.AppProtocol) + " is no qualified name"
		case names[p.Name] || numbers[key]:
			return "spec.ports", "holds a name, or a port and protocol, twice"
		}
		names[p.Name], numbers[key] = true, true
	}
	return "", ""
}

func legalPortName(name string, ports int) bool {
	return (name == "" && ports == 1) || len(validation.IsDNS1123Label(name)) == 0
}

func legalTargetPort(target intstr.IntOrString) bool {
	if target.Type == intstr.String {
		return len(validation.IsValidPortName(target.StrVal)) == 0
	}
	return target.IntVal == 0 || len(validation.IsValidPortNum(int(target.IntVal))) == 0
}

// withDefaults returns a copy with the defaults that the API server gives (objects from files lack them).
func withDefaults(svc *corev1.Service) *corev1.Service {
	out := svc.DeepCopy()
	for i := range out.Spec.Ports {
		p := &out.Spec.Ports[i]
		p.Protocol = keyOf(*p).protocol
		if p.TargetPort == (intstr.IntOrString{}) {
			p.TargetPort = intstr.FromInt32(p.Port)
		}
	}
	return out
}

// portKey is what the kernel tells sockets apart by.
type portKey struct {
	protocol corev1.Protocol
	port     int32
}

func keyOf(p corev1.ServicePort) portKey {
	if p.Protocol == "" {
		return portKey{corev1.ProtocolTCP, p.Port}
	}
	return portKey{p.Protocol, p.Port}
}

// portsTaken reports every port that two Services of one entry point want on the one new address.
func portsTaken(r *report, services []*corev1.Service) {
	owners := map[portKey]*corev1.Service{}
	for _, svc := range services {
		for _, p := range svc.Spec.Ports {
			key := keyOf(p)
			if owner, taken := owners[key]; taken {
				r.block(ReasonPortTaken, objectOf(svc)+" spec.ports",
					portText(p)+" is also a port of "+objectOf(owner)+", and both would be served on one address",
					"give them entry points of their own with spec.members, or merge the two Services")
				continue
			}
			owners[key] = svc
		}
	}
}

// localPolicy reports whether externalTrafficPolicy Local is in force: the API server keeps it on a Service that is
// reachable from outside only.
func localPolicy(svc *corev1.Service) bool {
	return svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

func hasAffinity(svc *corev1.Service) bool {
	return svc.Spec.SessionAffinity == corev1.ServiceAffinityClientIP
}
