//go:build tools

package hack

import (
	_ "github.com/miekg/dns"
	_ "go.universe.tf/metallb/api/v1beta1"
	_ "k8s.io/client-go/kubernetes"
	_ "sigs.k8s.io/controller-runtime"
	_ "sigs.k8s.io/controller-runtime/pkg/client/fake"
	_ "sigs.k8s.io/gateway-api/apis/v1"
	_ "sigs.k8s.io/yaml"
)
