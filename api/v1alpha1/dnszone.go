package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ZoneMode says who writes the zone.
// +kubebuilder:validation:Enum=RRset;Manual
type ZoneMode string

// The modes.
const (
	// ZoneModeRRset lets Offramp write by RFC 2136.
	ZoneModeRRset ZoneMode = "RRset"
	// ZoneModeManual makes it print each change and wait until it sees it.
	ZoneModeManual ZoneMode = "Manual"
)

// DNSZoneSpec is one zone, its servers and the names each namespace may use.
// +kubebuilder:validation:XValidation:rule="self.mode != 'RRset' || (has(self.keySecret) && self.keySecret.size() > 0)",message="mode RRset needs keySecret: the name of a Secret with the TSIG key in the controller's namespace; without a key use mode Manual"
// +kubebuilder:validation:XValidation:rule="self.domains.all(d, d.suffixes.all(s, s == self.zone || s.endsWith('.' + self.zone)))",message="every suffix in domains must be the zone or lie under it"
type DNSZoneSpec struct {
	// zone is the apex in lower case, for example example.com (no trailing dot). It never changes.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9_]([-a-z0-9_]{0,61}[a-z0-9_])?\.)*[a-z0-9_]([-a-z0-9_]{0,61}[a-z0-9_])?$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="zone is immutable: create another DNSZone for another zone"
	Zone string `json:"zone"`
	// mode says who writes.
	// +required
	Mode ZoneMode `json:"mode"`
	// primary is host:port of the server that takes updates; an IPv6 address stands in brackets.
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=262
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9]([-A-Za-z0-9._]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]):[1-9][0-9]{0,4}$`
	Primary string `json:"primary"`
	// servers are all other authoritative servers, host:port. Every one must be seen with each change.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=3
	// +kubebuilder:validation:items:MaxLength=262
	// +kubebuilder:validation:items:Pattern=`^([A-Za-z0-9]([-A-Za-z0-9._]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]):[1-9][0-9]{0,4}$`
	// +listType=set
	Servers []string `json:"servers,omitempty"`
	// keySecret holds the TSIG key: data keys "name", "algorithm" and "secret" (base64 as in named.conf); while keys are
	// changed, the one that goes under the same words with "previous-" in front. It lies in the controller's namespace.
	// Required in mode RRset.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$`
	KeySecret string `json:"keySecret,omitempty"`
	// externalDNSPrefix is what external-dns was given as --txt-prefix for this zone, so that the names it owns are known.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[-A-Za-z0-9_.%{}]*$`
	ExternalDNSPrefix string `json:"externalDNSPrefix,omitempty"`
	// externalDNSSuffix is what external-dns was given as --txt-suffix.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[-A-Za-z0-9_%{}]*$`
	ExternalDNSSuffix string `json:"externalDNSSuffix,omitempty"`
	// domains that each namespace may use. A namespace that is not listed moves no name of this zone.
	// +required
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +listType=map
	// +listMapKey=namespace
	Domains []DomainGrant `json:"domains"`
}

// DomainGrant lets a namespace move names at or under some domains.
type DomainGrant struct {
	// namespace that may use them.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace"`
	// suffixes are domains; a name must equal one or lie under one, at label borders.
	// +required
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^([a-z0-9_]([-a-z0-9_]{0,61}[a-z0-9_])?\.)*[a-z0-9_]([-a-z0-9_]{0,61}[a-z0-9_])?$`
	// +listType=set
	Suffixes []string `json:"suffixes"`
}

// DNSZoneStatus says whether the zone can be read and written.
type DNSZoneStatus struct {
	// conditions: Ready says that every server answers and the key exists.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// DNSZone is one zone: its servers, how it is written, and which names each namespace may move.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=offramp
// +kubebuilder:printcolumn:name="Zone",type=string,JSONPath=`.spec.zone`
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.spec.mode`
// +kubebuilder:printcolumn:name="Primary",type=string,JSONPath=`.spec.primary`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type DNSZone struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says how the zone is reached and who may use which names.
	// +required
	Spec DNSZoneSpec `json:"spec"`
	// status says whether the zone can be read and written.
	// +optional
	Status DNSZoneStatus `json:"status,omitempty"`
}

// DNSZoneList is a list of DNSZones.
// +kubebuilder:object:root=true
type DNSZoneList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DNSZone `json:"items"`
}
