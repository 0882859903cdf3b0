package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"
)

// cluster is one with these objects; of the kinds in forbidden nothing may be read, or, with "in NAMESPACE" behind it, only
// what lies there.
func cluster(t *testing.T, forbidden []string, manifests string, objects ...client.Object) *Connection {
	t.Helper()
	scheme := newReadScheme()
	mapper := meta.NewDefaultRESTMapper(nil)
	for gvk := range scheme.AllKnownTypes() {
		mapper.Add(gvk, meta.RESTScopeNamespace)
	}
	for document := range strings.SplitSeq(manifests, "\n---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &u.Object); err != nil {
			t.Fatal(err)
		}
		if len(u.Object) == 0 {
			continue
		}
		gvk := u.GroupVersionKind()
		mapper.Add(gvk, meta.RESTScopeNamespace)
		objects = append(objects, u)
		if scheme.Recognizes(gvk) {
			continue
		}
		scheme.AddKnownTypeWithName(gvk, &unstructured.Unstructured{})
		scheme.AddKnownTypeWithName(gvk.GroupVersion().WithKind(gvk.Kind+"List"), &unstructured.UnstructuredList{})
	}
	refuse := func(kind, namespace string) error {
		for _, f := range forbidden {
			what, only, _ := strings.Cut(f, " in ")
			if what == kind && (only == "" || only != namespace) {
				return apierrors.NewForbidden(schema.GroupResource{Resource: kind}, "", fmt.Errorf("no right to read %s", kind))
			}
		}
		return nil
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			kind := strings.TrimSuffix(list.GetObjectKind().GroupVersionKind().Kind, "List")
			if kind == "" {
				kind = kindOf(list)
			}
			applied := (&client.ListOptions{}).ApplyOptions(options)
			if err := refuse(kind, applied.Namespace); err != nil {
				return err
			}
			return c.List(ctx, list, options...)
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			kind := object.GetObjectKind().GroupVersionKind().Kind
			if _, isConfig := object.(*corev1.ConfigMap); isConfig {
				kind = "ConfigMap"
			}
			if err := refuse(kind, key.Namespace); err != nil {
				return err
			}
			return c.Get(ctx, key, object, options...)
		},
	}).Build()
	return &Connection{Client: c}
}

func template(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}}}
}

func metaOf(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func ownedBy(m metav1.ObjectMeta, kind, name string) metav1.ObjectMeta {
	yes := true
	m.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: name, Controller: &yes}}
	return m
}

func pod(m metav1.ObjectMeta) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: m, Spec: template("i").Spec}
}

func TestWorkloadsOfAClusterAreReadOnce(t *testing.T) {
	t.Parallel()
	conn := cluster(t, nil, "",
		&appsv1.Deployment{ObjectMeta: metaOf("a", "web"), Spec: appsv1.DeploymentSpec{Template: template("web")}},
		pod(ownedBy(metaOf("a", "web-5d-x"), "ReplicaSet", "web-5d")), pod(ownedBy(metaOf("a", "web-5d-y"), "ReplicaSet", "web-5d")),
		pod(ownedBy(metaOf("a", "roll-77-x"), "ReplicaSet", "roll-77")), pod(ownedBy(metaOf("a", "roll-77-y"), "ReplicaSet", "roll-77")),
		pod(ownedBy(metaOf("b", "web-5d-x"), "ReplicaSet", "web-5d")),
		&appsv1.DaemonSet{ObjectMeta: metaOf("a", "ds"), Spec: appsv1.DaemonSetSpec{Template: template("ds")}}, pod(ownedBy(metaOf("a", "ds-x"), "DaemonSet", "ds")),
		&batchv1.CronJob{ObjectMeta: metaOf("a", "cron")}, &batchv1.Job{ObjectMeta: ownedBy(metaOf("a", "cron-1"), "CronJob", "cron")},
		&batchv1.Job{ObjectMeta: metaOf("a", "job")}, &appsv1.StatefulSet{ObjectMeta: metaOf("a", "db")},
		pod(metaOf("a", "bare")), pod(ownedBy(metaOf("kube-system", "kube-apiserver-n1"), "Node", "n1")), pod(ownedBy(metaOf("a", "kafka-0"), "StrimziPodSet", "kafka")),
	)
	c, err := (&app{}).collectCluster(t.Context(), conn, "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range c.Workloads {
		got = append(got, w.Kind+" "+w.Namespace+"/"+w.Name)
	}
	slices.Sort(got)
	want := []string{
		"CronJob a/cron", "DaemonSet a/ds", "Deployment a/web", "Job a/job", "Pod a/bare", "Pod a/kafka-0", "Pod kube-system/kube-apiserver-n1",
		"ReplicaSet a/roll-77", "ReplicaSet b/web-5d", "StatefulSet a/db",
	}
	if !slices.Equal(got, want) {
		t.Errorf("workloads %q,\nwant %q", got, want)
	}
}

const embedding = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing}
  versions:
  - {name: v0, served: false}
  - name: v1
    served: true
    schema: {openAPIV3Schema: {properties: {spec: {properties: {service: {properties: {externalIPs: {type: array}}}}}}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: plains.example.com}
spec:
  group: example.com
  names: {kind: Plain}
  versions: [{name: v1, served: true, schema: {openAPIV3Schema: {properties: {externalIPs: {}}}}}]
---
apiVersion: example.com/v1
kind: Thing
metadata: {namespace: a, name: with}
spec: {service: {externalIPs: [192.0.2.1]}}
---
apiVersion: example.com/v1
kind: Thing
metadata: {namespace: b, name: without}
spec: {service: {externalIPs: []}}
---
apiVersion: crd.projectcalico.org/v1
kind: BGPConfiguration
metadata: {name: default}
spec: {serviceExternalIPs: [{cidr: 192.0.2.0/24}]}
`

// others are the objects of other projects, as "Kind ns/name".
func others(c *collection) []string {
	var out []string
	for _, o := range c.Others {
		out = append(out, objectKey(o.GetKind(), o.GetNamespace(), o.GetName()))
	}
	slices.Sort(out)
	return out
}

func TestKindsThatEmbedTheFieldAreFoundByTheirSchema(t *testing.T) {
	t.Parallel()
	c, err := (&app{}).collectCluster(t.Context(), cluster(t, nil, embedding), "")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := others(c), []string{"BGPConfiguration default", "Thing a/with"}; !slices.Equal(got, want) {
		t.Errorf("others %q, want %q", got, want)
	}
	if len(c.Unseen) > 0 {
		t.Errorf("unseen %+v; a kind that is not installed is no finding", c.Unseen)
	}
}

func TestWhatMayNotBeReadIsUnseenAndNeverEmpty(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		forbidden []string
		namespace string
		unseen    string
		// empty tells whether the kind's list is nil then.
		empty func(*collection) bool
	}{
		"Ingresses":           {forbidden: []string{"Ingress"}, unseen: "Ingress", empty: func(c *collection) bool { return c.Ingresses == nil }},
		"network policies":    {forbidden: []string{"NetworkPolicy"}, unseen: "NetworkPolicy", empty: func(c *collection) bool { return c.NetworkPolicies == nil }},
		"Pods alone":          {forbidden: []string{"Pod"}, unseen: "Pod", empty: func(c *collection) bool { return c.Workloads != nil }},
		"ConfigMaps":          {forbidden: []string{"ConfigMap"}, unseen: "ConfigMap", empty: func(c *collection) bool { return len(c.ConfigMaps) == 0 }},
		"definitions":         {forbidden: []string{"CustomResourceDefinition"}, unseen: "CustomResourceDefinition", empty: func(c *collection) bool { return len(c.Others) == 1 }},
		"another project's":   {forbidden: []string{"BGPConfiguration"}, unseen: "BGPConfiguration.crd.projectcalico.org", empty: func(c *collection) bool { return len(c.Others) == 1 }},
		"one that embeds":     {forbidden: []string{"Thing"}, unseen: "Thing.example.com", empty: func(c *collection) bool { return len(c.Others) == 1 }},
		"all workloads":       {forbidden: []string{"Deployment", "DaemonSet", "StatefulSet", "CronJob", "Job", "Pod"}, unseen: "Deployment", empty: func(c *collection) bool { return c.Workloads == nil }},
		"outside a namespace": {forbidden: []string{"Service in a"}, namespace: "a", unseen: "Service", empty: func(c *collection) bool { return len(c.Services) == 1 }},
		"a kind that embeds outside a namespace": {
			forbidden: []string{"Thing in a"}, namespace: "a", unseen: "Thing.example.com", empty: func(c *collection) bool { return len(c.Others) == 2 },
		},
		"slices, and the endpoints instead": {
			forbidden: []string{"EndpointSlice"}, unseen: "EndpointSlice",
			empty: func(c *collection) bool { return c.EndpointSlices == nil && len(c.APIServers) == 1 },
		},
	}
	endpoints := "\n---\napiVersion: v1\nkind: Endpoints\nmetadata: {namespace: default, name: kubernetes}\nsubsets: [{addresses: [{ip: 192.0.2.9}]}]\n"
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := cluster(t, tc.forbidden, embedding+strings.Replace(endpoints, "\n---\n", "---\n", 1),
				&corev1.Service{ObjectMeta: metaOf("a", "s")}, &corev1.Service{ObjectMeta: metaOf("b", "s")})
			c, err := (&app{}).collectCluster(t.Context(), conn, tc.namespace)
			if err != nil {
				t.Fatal(err)
			}
			var kinds []string
			for _, u := range c.Unseen {
				kinds = append(kinds, u.Kind)
			}
			if !slices.Contains(kinds, tc.unseen) || !tc.empty(c) {
				t.Errorf("unseen %+v, %d Services, others %q; want %s unseen", c.Unseen, len(c.Services), others(c), tc.unseen)
			}
		})
	}
}

func TestServicesThatMayNotBeReadAreAnError(t *testing.T) {
	t.Parallel()
	_, err := (&app{}).collectCluster(t.Context(), cluster(t, []string{"Service"}, ""), "")
	if !apierrors.IsForbidden(err) {
		t.Errorf("got %v, want that it is forbidden", err)
	}
}
