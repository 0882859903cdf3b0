package gatewaydouble

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// view is what the double makes of the world.
type view struct {
	*world

	settings Settings
	classes  map[gatewayv1.ObjectName]*class
	gateways []*served
	routes   []*route
	// answers are what each route is told about its parents, in the order of routes.
	answers [][]answer
	// live has the Services of the double's namespace as the API server has them; the leader's only.
	live *world
}

// classNames are the names of our classes, in order.
func (v *view) classNames() []gatewayv1.ObjectName { return slices.Sorted(maps.Keys(v.classes)) }

// class is a GatewayClass that names the double.
type class struct {
	object *gatewayv1.GatewayClass
	mode   Mode
	// refused is why the class cannot be accepted.
	refused verdict
}

// served is a Gateway of one of our classes.
type served struct {
	*gatewayv1.Gateway

	mode      Mode
	refused   verdict
	listeners []*listener
	// service is the one provisioned for this Gateway, nil where there is none yet.
	service *corev1.Service
}

// judge decides who is served and which route attaches where. It reads the world and changes nothing of it.
func judge(w *world, s Settings) *view {
	v := &view{world: w, settings: s, classes: map[gatewayv1.ObjectName]*class{}, routes: w.routes()}
	for i := range w.classes.Items {
		if c := &w.classes.Items[i]; c.Spec.ControllerName == ControllerName {
			v.classes[gatewayv1.ObjectName(c.Name)] = judgeClass(c, s.Misbehave)
		}
	}
	for i := range w.gateways.Items {
		g := &w.gateways.Items[i]
		if c, ours := v.classes[g.Spec.GatewayClassName]; ours && g.DeletionTimestamp == nil {
			v.gateways = append(v.gateways, v.judgeGateway(g, c))
		}
	}
	for _, r := range v.routes {
		v.answers = append(v.answers, v.attach(r))
	}
	return v
}

func judgeClass(c *gatewayv1.GatewayClass, byDefault Mode) *class {
	out := &class{object: c}
	mode, err := ParseMode(cmp.Or(c.Annotations[AnnotationMisbehave], string(byDefault)))
	out.mode = mode
	invalid := string(gatewayv1.GatewayClassReasonInvalidParameters)
	switch {
	case err != nil:
		out.refused = verdict{invalid, "metadata.annotations " + AnnotationMisbehave + ": " + err.Error()}
	case c.Spec.ParametersRef != nil:
		out.refused = verdict{invalid, "spec.parametersRef: this double takes no parameters"}
	}
	return out
}

func (v *view) judgeGateway(g *gatewayv1.Gateway, c *class) *served {
	out := &served{Gateway: g, mode: c.mode, refused: v.refuses(g, c), listeners: judgeListeners(g.Spec.Listeners)}
	if s := v.service(g.Namespace, serviceName(g.Name)); s != nil && metav1.IsControlledBy(s, g) {
		out.service = s
	}
	for _, l := range out.listeners {
		l.port, _ = v.settings.Ports.at(int64(out.targetPort(l.spec.Port)))
	}
	return out
}

// refuses is why a Gateway as a whole is not accepted.
func (v *view) refuses(g *gatewayv1.Gateway, c *class) verdict {
	if !c.refused.good() {
		return verdict{string(gatewayv1.GatewayReasonInvalid), "GatewayClass " + c.object.Name + ": " + c.refused.message}
	}
	if g.Namespace != v.settings.Namespace {
		return verdict{
			string(gatewayv1.GatewayReasonInvalid),
			"metadata.namespace: this double serves Gateways of namespace " + v.settings.Namespace + ", where its Pods are",
		}
	}
	for _, a := range g.Spec.Addresses {
		if a.Type != nil && *a.Type != gatewayv1.IPAddressType {
			return verdict{
				string(gatewayv1.GatewayReasonUnsupportedAddress),
				fmt.Sprintf("spec.addresses: type %q is not supported, use IPAddress", *a.Type),
			}
		}
	}
	if g.Spec.Infrastructure != nil && g.Spec.Infrastructure.ParametersRef != nil {
		return verdict{string(gatewayv1.GatewayReasonInvalidParameters), "spec.infrastructure.parametersRef: this double takes no parameters"}
	}
	return verdict{}
}

// targetPort is what the Service remembers of a listener's port, 0 where it does not know it.
func (g *served) targetPort(port int32) int32 {
	if g.service == nil {
		return 0
	}
	for _, p := range g.service.Spec.Ports {
		if p.Port == port {
			return p.TargetPort.IntVal
		}
	}
	return 0
}
