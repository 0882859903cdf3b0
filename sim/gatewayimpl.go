package sim

import (
	"context"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"offramp.dev/api/v1alpha1"
	"offramp.dev/gateway"
)

// gatewayImpl emulates a Gateway implementation as the class profiles describe them. Binding Annotation: a Service of
// its own for each Gateway, with the annotations of infrastructure. Binding StaticService: an admin's Service for all.
type gatewayImpl struct {
	api   client.Client
	cache *cache
}

// sync brings generated Services and every status up to date.
func (g *gatewayImpl) sync(ctx context.Context) error {
	if err := g.collect(ctx); err != nil {
		return err
	}
	for _, obj := range sortedObjects(g.cache, gatewayKind) {
		gw, ok := obj.(*gatewayv1.Gateway)
		if !ok || gw.DeletionTimestamp != nil {
			continue
		}
		profile, known := g.profile(gw)
		if !known {
			continue
		}
		if err := g.serve(ctx, gw.DeepCopy(), profile); err != nil {
			return err
		}
	}
	return g.routes(ctx)
}

// profile of the Gateway's class, as a policy may override it.
func (g *gatewayImpl) profile(gw *gatewayv1.Gateway) (gateway.Profile, bool) {
	class, ok := g.cache.objects[classKind][nameKey(string(gw.Spec.GatewayClassName))].(*gatewayv1.GatewayClass)
	if !ok {
		return gateway.Profile{}, false
	}
	return gateway.ProfileFor(string(class.Spec.ControllerName), g.settings(gw))
}

func (g *gatewayImpl) settings(gw *gatewayv1.Gateway) *v1alpha1.GatewaySettings {
	for _, obj := range sortedObjects(g.cache, policyKind) {
		p, ok := obj.(*v1alpha1.MigrationPolicy)
		if ok && p.Spec.Gateway != nil && p.Spec.Gateway.ClassName == string(gw.Spec.GatewayClassName) {
			return p.Spec.Gateway
		}
	}
	return nil
}

// collect deletes generated Services whose Gateway is gone, as the owner reference would.
func (g *gatewayImpl) collect(ctx context.Context) error {
	for _, obj := range sortedObjects(g.cache, serviceKind) {
		name := obj.GetLabels()[labelGatewayName]
		if name == "" || g.cache.objects[gatewayKind][client.ObjectKey{Namespace: obj.GetNamespace(), Name: name}] != nil {
			continue
		}
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: obj.GetNamespace(), Name: obj.GetName()}}
		if err := g.api.Delete(ctx, svc); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

func (g *gatewayImpl) serve(ctx context.Context, gw *gatewayv1.Gateway, profile gateway.Profile) error {
	svc, err := g.service(ctx, gw, profile)
	if err != nil {
		return err
	}
	before := gw.Status.DeepCopy()
	gw.Status.Addresses = nil
	for _, in := range svc.Status.LoadBalancer.Ingress {
		kind := gatewayv1.IPAddressType
		gw.Status.Addresses = append(gw.Status.Addresses, gatewayv1.GatewayStatusAddress{Type: &kind, Value: in.IP})
	}
	bound := len(gw.Status.Addresses) > 0
	setCondition(&gw.Status.Conditions, string(gatewayv1.GatewayConditionAccepted), true, "Accepted", gw.Generation)
	reason := "Programmed"
	if !bound {
		reason = "AddressNotAssigned"
	}
	setCondition(&gw.Status.Conditions, string(gatewayv1.GatewayConditionProgrammed), bound, reason, gw.Generation)
	gw.Status.Listeners = g.listeners(gw)
	if reflect.DeepEqual(before, &gw.Status) {
		return nil
	}
	return g.api.Status().Update(ctx, gw)
}

// service is the data plane's Service: generated and kept up to date, or the admin's. An empty one where there is none.
func (g *gatewayImpl) service(ctx context.Context, gw *gatewayv1.Gateway, profile gateway.Profile) (*corev1.Service, error) {
	if profile.Binding == v1alpha1.BindingStaticService {
		s := g.settings(gw)
		if s == nil || s.StaticService == nil {
			return &corev1.Service{}, nil
		}
		live, _ := g.stored(s.StaticService.Namespace, s.StaticService.Name)
		return live, nil
	}
	want := generated(gw)
	live, found := g.stored(want.Namespace, want.Name)
	if !found {
		if err := g.api.Create(ctx, want); err != nil {
			return nil, err
		}
		return want, nil
	}
	if slices.Equal(portsOf(live), portsOf(want)) {
		return live, nil
	}
	live.Spec.Ports = want.Spec.Ports
	return live, g.api.Update(ctx, live)
}

func (g *gatewayImpl) stored(namespace, name string) (*corev1.Service, bool) {
	svc, ok := g.cache.objects[serviceKind][client.ObjectKey{Namespace: namespace, Name: name}].(*corev1.Service)
	if !ok {
		return &corev1.Service{}, false
	}
	return svc.DeepCopy(), true
}

func generated(gw *gatewayv1.Gateway) *corev1.Service {
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: gw.Namespace, Name: generatedName(gw),
			Labels: map[string]string{labelGatewayName: gw.Name, "gateway.networking.k8s.io/gateway-class-name": string(gw.Spec.GatewayClassName)},
		},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{labelGatewayName: gw.Name}},
	}
	if in := gw.Spec.Infrastructure; in != nil {
		svc.Annotations = map[string]string{}
		for k, v := range in.Annotations {
			svc.Annotations[string(k)] = string(v)
		}
		for k, v := range in.Labels {
			svc.Labels[string(k)] = string(v)
		}
	}
	for _, l := range gw.Spec.Listeners {
		p := corev1.ServicePort{Name: string(l.Name), Port: l.Port, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(l.Port)}
		if !slices.ContainsFunc(svc.Spec.Ports, func(o corev1.ServicePort) bool { return o.Port == p.Port }) {
			svc.Spec.Ports = append(svc.Spec.Ports, p)
		}
	}
	return svc
}

func generatedName(gw *gatewayv1.Gateway) string {
	name := gw.Name + "-dp"
	if len(name) > 63 {
		return gw.Name[:60] + "-dp"
	}
	return name
}

func (g *gatewayImpl) listeners(gw *gatewayv1.Gateway) []gatewayv1.ListenerStatus {
	var out []gatewayv1.ListenerStatus
	for _, l := range gw.Spec.Listeners {
		s := gatewayv1.ListenerStatus{Name: l.Name, SupportedKinds: kindsOf(l.Protocol)}
		for _, old := range gw.Status.Listeners {
			if old.Name == l.Name {
				s.Conditions = old.Conditions
			}
		}
		for _, r := range routes(g.cache) {
			if r.attaches(gw, l) && admits(gw, l, r.namespace) {
				s.AttachedRoutes++
			}
		}
		for _, c := range []string{"Accepted", "Programmed", "ResolvedRefs"} {
			setCondition(&s.Conditions, c, true, c, gw.Generation)
		}
		out = append(out, s)
	}
	return out
}

func kindsOf(p gatewayv1.ProtocolType) []gatewayv1.RouteGroupKind {
	group := gatewayv1.Group(gatewayv1.GroupName)
	for _, kind := range []string{"HTTPRoute", "TCPRoute", "TLSRoute"} {
		if protocolFits(kind, p) {
			return []gatewayv1.RouteGroupKind{{Group: &group, Kind: gatewayv1.Kind(kind)}}
		}
	}
	return []gatewayv1.RouteGroupKind{}
}

func setCondition(list *[]metav1.Condition, kind string, yes bool, reason string, generation int64) {
	status := metav1.ConditionFalse
	if yes {
		status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(list, metav1.Condition{Type: kind, Status: status, Reason: reason, ObservedGeneration: generation})
}
