package cli

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lighten drops of an object what the inventory never reads; kept is false where that is all of it. A big cluster has many
// objects, and most of each is of no use here.
func lighten(item runtime.Object) (object client.Object, kept bool) {
	object, kept = item.(client.Object)
	if !kept {
		return nil, false
	}
	switch o := object.(type) {
	case *corev1.Service:
		slim(o)
		return o, true
	case *corev1.Pod:
		o.Spec, o.Status = slimPod(o.Spec), corev1.PodStatus{}
		kept = !controlledBy(o, podMakers()...)
	case *corev1.Node:
		o.Status.Images = nil
	case *appsv1.Deployment:
		o.Spec = appsv1.DeploymentSpec{Template: slimTemplate(o.Spec.Template)}
	case *appsv1.DaemonSet:
		o.Spec = appsv1.DaemonSetSpec{Template: slimTemplate(o.Spec.Template)}
	case *appsv1.StatefulSet:
		o.Spec = appsv1.StatefulSetSpec{Template: slimTemplate(o.Spec.Template)}
	case *batchv1.Job:
		o.Spec = batchv1.JobSpec{Template: slimTemplate(o.Spec.Template)}
	case *batchv1.CronJob:
		o.Spec.JobTemplate.Spec = batchv1.JobSpec{Template: slimTemplate(o.Spec.JobTemplate.Spec.Template)}
	}
	object.SetManagedFields(nil)
	return object, kept
}

// slim drops what a Service without the field is never asked for.
func slim(s *corev1.Service) {
	if len(s.Spec.ExternalIPs) > 0 {
		return
	}
	s.ManagedFields = nil
	delete(s.Annotations, corev1.LastAppliedConfigAnnotation)
}

func slimTemplate(t corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	out := corev1.PodTemplateSpec{Spec: slimPod(t.Spec)}
	out.Labels = t.Labels
	return out
}

func slimPod(s corev1.PodSpec) corev1.PodSpec {
	return corev1.PodSpec{HostNetwork: s.HostNetwork, InitContainers: slimContainers(s.InitContainers), Containers: slimContainers(s.Containers)}
}

func slimContainers(in []corev1.Container) []corev1.Container {
	out := make([]corev1.Container, 0, len(in))
	for i := range in {
		c := &in[i]
		out = append(out, corev1.Container{Name: c.Name, Image: c.Image, Command: c.Command, Args: c.Args, Env: c.Env})
	}
	return out
}
