package metallb

import (
	"slices"

	metallbv1beta1 "go.universe.tf/metallb/api/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NewPool makes a pool that hands out only what is asked for by name. It is for worlds that are made up: in a cluster
// pools are the admin's.
func NewPool(key client.ObjectKey, addresses []string) client.Object {
	no := false
	return &metallbv1beta1.IPAddressPool{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec:       metallbv1beta1.IPAddressPoolSpec{Addresses: slices.Clone(addresses), AutoAssign: &no},
	}
}

// NewL2Advertisement announces the named pools on every node. It is for worlds that are made up, like NewPool.
func NewL2Advertisement(key client.ObjectKey, pools ...string) client.Object {
	return &metallbv1beta1.L2Advertisement{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec:       metallbv1beta1.L2AdvertisementSpec{IPAddressPools: slices.Clone(pools)},
	}
}

// Addresses are the ranges of an IPAddressPool as they are written; none where obj is no pool.
func Addresses(obj client.Object) []string {
	pool, ok := obj.(*metallbv1beta1.IPAddressPool)
	if !ok {
		return nil
	}
	return slices.Clone(pool.Spec.Addresses)
}

// StatusKinds is one empty object of each of MetalLB's kinds whose status is a subresource.
func StatusKinds() []client.Object {
	return []client.Object{&metallbv1beta1.IPAddressPool{}, &metallbv1beta1.ServiceL2Status{}}
}
