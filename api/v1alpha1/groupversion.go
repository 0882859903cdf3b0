package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "offramp.dev", Version: "v1alpha1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&MigrationPolicy{}, &MigrationPolicyList{},
		&DNSZone{}, &DNSZoneList{},
		&EntryPoint{}, &EntryPointList{},
		&AddressClaim{}, &AddressClaimList{},
		&MigrationRecord{}, &MigrationRecordList{},
		&Observation{}, &ObservationList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
