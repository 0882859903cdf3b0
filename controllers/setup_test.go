package controllers

import (
	"context"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"offramp.dev/api/v1alpha1"
)

func endpoints(namespace, service string, ready ...bool) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: service + "-1", Labels: map[string]string{discoveryv1.LabelServiceName: service},
	}}
	for _, r := range ready {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.0.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: &r}})
	}
	return s
}

func TestOnlyAServiceThatBecomesReadyOrNotCallsForAPass(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, after []bool
		want          bool
	}{
		"the first Pod is ready":       {[]bool{false}, []bool{true}, true},
		"the last one is not any more": {[]bool{true}, nil, true},
		"one of several goes":          {[]bool{true, true}, []bool{true, false}, false},
		"one more that is not ready":   {[]bool{false}, []bool{false, false}, false},
	} {
		got := readiness().Update(event.UpdateEvent{ObjectOld: endpoints("shop", "web", c.before...), ObjectNew: endpoints("shop", "web", c.after...)})
		if got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestEndpointsCallForTheEntryPointOfTheirService(t *testing.T) {
	t.Parallel()
	cl := fakeClient(t, nil)
	both := reported("both")
	both.Spec.Members = append(both.Spec.Members, v1alpha1.ServiceReference{Namespace: "shop", Name: "web"})
	store(t, cl, both, reported("other"))
	p := &Ports{Client: cl}
	for _, c := range []struct {
		namespace, service string
		want               int
	}{{"shop", "web", 1}, {"shop", "both", 1}, {"shop", "nobody", 0}, {"else", "web", 0}} {
		got := p.served(context.Background(), endpoints(c.namespace, c.service))
		if len(got) != c.want || c.want == 1 && got[0].Name != "both" {
			t.Errorf("%s/%s: %v", c.namespace, c.service, got)
		}
	}
}
