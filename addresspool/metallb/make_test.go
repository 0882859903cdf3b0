package metallb

import (
	"reflect"
	"slices"
	"testing"

	"go.universe.tf/metallb/api/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"offramp.dev/addresspool"
)

func TestAMadePoolAndItsAdvertisementReadAsAnAnnouncedPoolThatAssignsNothingByItself(t *testing.T) {
	t.Parallel()
	key := client.ObjectKey{Namespace: "metallb-system", Name: "p"}
	made, isPool := NewPool(key, []string{"192.0.2.0/30"}).(*v1beta1.IPAddressPool)
	ad, isAd := NewL2Advertisement(key, "p").(*v1beta1.L2Advertisement)
	if !isPool || !isAd {
		t.Fatalf("%v, %v", isPool, isAd)
	}
	got := Pools([]v1beta1.IPAddressPool{*made}, []v1beta1.L2Advertisement{*ad}, nil)
	want := []addresspool.Pool{{
		Name: "p", Namespace: "metallb-system", Ranges: []addresspool.Range{{First: ip("192.0.2.0"), Last: ip("192.0.2.3")}},
		Announcers: []string{"L2Advertisement metallb-system/p"},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestOnlyAPoolHasAddresses(t *testing.T) {
	t.Parallel()
	written := []string{"192.0.2.0/30", "nonsense"}
	if got := Addresses(NewPool(client.ObjectKey{Name: "p"}, written)); !slices.Equal(got, written) {
		t.Errorf("%q", got)
	}
	if got := Addresses(&corev1.Service{}); got != nil {
		t.Errorf("a Service has %q", got)
	}
}
