//go:build api

package api

import (
	"context"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// asPodOf is a configuration for a Pod of a ServiceAccount on a node: the token names both, as the kubelet's do.
func (r *ring) asPodOf(t *testing.T, namespace, account, node string) *rest.Config {
	t.Helper()
	ctx := context.Background()
	k, err := kubernetes.NewForConfig(r.cfg)
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account + "-" + node},
		Spec: corev1.PodSpec{
			ServiceAccountName: account, NodeName: node, Containers: []corev1.Container{{Name: "agent", Image: "none.invalid/agent"}},
		},
	}
	if pod, err = k.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatalf("Pod of the agent: %v", err)
	}
	seconds := int64(7200)
	var tok *authenticationv1.TokenRequest
	eventually(t, time.Minute, "a token for the agent", func() error {
		tok, err = k.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account, &authenticationv1.TokenRequest{
			Spec: authenticationv1.TokenRequestSpec{
				ExpirationSeconds: &seconds, BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID},
			},
		}, metav1.CreateOptions{})
		return err
	})
	return &rest.Config{Host: r.cfg.Host, TLSClientConfig: rest.TLSClientConfig{CAData: r.cfg.CAData}, BearerToken: tok.Status.Token, QPS: 100, Burst: 200}
}
