package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ZoneMode says who writes the zone.
// +kubebuilder:validation:Enum=RRset;Manual
type ZoneMode string

// The modes. RRset: Offramp writes by RFC 2136. Manual: it prints the change and waits until it sees it.
const (
	ZoneModeRRset  ZoneMode = "RRset"
	ZoneModeManual ZoneMode = "Manual"
)

// DNSZoneSpec is one zone, its servers and the names each namespace may use.
type DNSZoneSpec struct {
	// zone is the apex, for example example.com (a trailing dot is not written).
	Zone string `json:"zone"`
	// mode says who writes. Required.
	Mode ZoneMode `json:"mode"`
	// primary is host:port of the server that takes updates.
	Primary string `json:"primary"`
	// servers are all other authoritative servers, host:port. Every one must be seen.
	Servers []string `json:"servers,omitempty"`
	// keySecret holds the TSIG key: data keys "name", "algorithm" and "secret" (base64 as in named.conf). It lies in the
	// controller's namespace. Required in mode RRset.
	KeySecret string `json:"keySecret,omitempty"`
	// domains that each namespace may use.
	Domains []DomainGrant `json:"domains"`
}

// DomainGrant lets a namespace move names at or under some domains.
type DomainGrant struct {
	// namespace that may use them.
	Namespace string `json:"namespace"`
	// suffixes are domains; a name must equal one or lie under one, at label borders.
	Suffixes []string `json:"suffixes"`
}

// DNSZoneStatus says whether the zone can be read and written.
type DNSZoneStatus struct {
	// conditions: Ready says that every server answers and the key exists.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// DNSZone is one zone.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster
type DNSZone struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   DNSZoneSpec   `json:"spec"`
	Status DNSZoneStatus `json:"status,omitempty"`
}

// DNSZoneList is a list of DNSZones.
// +kubebuilder:object:root=true
type DNSZoneList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DNSZone `json:"items"`
}
