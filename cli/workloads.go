package cli

import (
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/inventory"
)

// newWorkload is an empty object of a kind that runs Pods, or nil.
func newWorkload(apiVersion, kind string) client.Object {
	switch apiVersion + " " + kind {
	case "apps/v1 Deployment":
		return &appsv1.Deployment{}
	case "apps/v1 DaemonSet":
		return &appsv1.DaemonSet{}
	case "apps/v1 StatefulSet":
		return &appsv1.StatefulSet{}
	case "batch/v1 CronJob":
		return &batchv1.CronJob{}
	case "batch/v1 Job":
		return &batchv1.Job{}
	case "v1 Pod":
		return &corev1.Pod{}
	default:
		return nil
	}
}

// workloadLists are those kinds, as lists.
func workloadLists() []client.ObjectList {
	return []client.ObjectList{
		&appsv1.DeploymentList{}, &appsv1.DaemonSetList{}, &appsv1.StatefulSetList{}, &batchv1.CronJobList{}, &batchv1.JobList{},
		&corev1.PodList{},
	}
}

// workloadOf keeps of an object what the inventory reads, so that a page of whole Pods can be forgotten at once. owner is
// set for a Pod that stands for the ReplicaSet that made it.
func workloadOf(object client.Object) (w inventory.Workload, owner string, known bool) {
	switch o := object.(type) {
	case *appsv1.Deployment:
		return inventory.WorkloadOf("Deployment", o.ObjectMeta, o.Spec.Template), "", true
	case *appsv1.DaemonSet:
		return inventory.WorkloadOf("DaemonSet", o.ObjectMeta, o.Spec.Template), "", true
	case *appsv1.StatefulSet:
		return inventory.WorkloadOf("StatefulSet", o.ObjectMeta, o.Spec.Template), "", true
	case *batchv1.CronJob:
		return inventory.WorkloadOf("CronJob", o.ObjectMeta, o.Spec.JobTemplate.Spec.Template), "", true
	case *batchv1.Job:
		return inventory.WorkloadOf("Job", o.ObjectMeta, o.Spec.Template), "", !controlledBy(o, "CronJob")
	case *corev1.Pod:
		return podWorkload(o)
	default:
		return inventory.Workload{}, "", false
	}
}

// podWorkload leaves out the Pods whose maker is read itself. What else makes Pods (a node, an operator's own kind) does not
// show them, so each stands for itself; those of a ReplicaSet are alike, and count once if no Deployment made it.
func podWorkload(pod *corev1.Pod) (w inventory.Workload, owner string, known bool) {
	if controlledBy(pod, podMakers()...) {
		return w, "", false
	}
	w = inventory.WorkloadOf("Pod", pod.ObjectMeta, corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec})
	if !controlledBy(pod, "ReplicaSet") {
		return w, "", true
	}
	w.Kind, w.Name = "ReplicaSet", metav1.GetControllerOf(pod).Name
	return w, w.Namespace + "/" + w.Name, true
}

// podMakers are the kinds whose Pods need no look, because the inventory reads what made them.
func podMakers() []string { return []string{"DaemonSet", "StatefulSet", "Job"} }

func controlledBy(o client.Object, kinds ...string) bool {
	owner := metav1.GetControllerOf(o)
	return owner != nil && slices.Contains(kinds, owner.Kind)
}

// addWorkload keeps one, unless it is made by another that is kept.
func (c *collection) addWorkload(object client.Object) {
	w, owner, known := workloadOf(object)
	switch {
	case !known:
	case owner == "":
		c.Workloads = append(c.Workloads, w)
	default:
		if c.replicaSets == nil {
			c.replicaSets = map[string]inventory.Workload{}
		}
		if _, known := c.replicaSets[owner]; !known {
			c.replicaSets[owner] = w
		}
	}
}

// addReplicaSets adds those that no Deployment of the input made: rollouts of other projects make them too.
func (c *collection) addReplicaSets() {
	deployments := map[string]bool{}
	for _, w := range c.Workloads {
		if w.Kind == "Deployment" {
			deployments[w.Namespace+"/"+w.Name] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.replicaSets)) {
		// A Deployment names its ReplicaSets after itself, with a hash behind the last hyphen.
		if cut := strings.LastIndex(key, "-"); cut < 0 || !deployments[key[:cut]] {
			c.Workloads = append(c.Workloads, c.replicaSets[key])
		}
	}
	c.replicaSets = nil
}
