package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ClaimRole tells an old address from a new one.
// +kubebuilder:validation:Enum=Old;New;Adopted
type ClaimRole string

// The roles.
const (
	// ClaimOld is an address that tenants wrote into externalIPs.
	ClaimOld ClaimRole = "Old"
	// ClaimNew is an address that the platform allocated.
	ClaimNew ClaimRole = "New"
	// ClaimAdopted is an old address that stays, owned by the platform from now on.
	ClaimAdopted ClaimRole = "Adopted"
)

// AddressClaimSpec is one row of the ledger. Creating the object is the lock on the address.
// +kubebuilder:validation:XValidation:rule="self.entryPoint == oldSelf.entryPoint || (has(self.shares) && has(oldSelf.shares) && oldSelf.shares.exists(s, s.entryPoint == self.entryPoint))",message="entryPoint is immutable: an address changes hands only when its claim is gone and another is created, or, where it is shared, when it passes to one that shared it before"
// +kubebuilder:validation:XValidation:rule="!has(self.shares) || self.shares.exists(s, s.entryPoint == self.entryPoint)",message="shares must hold the entryPoint too: it is the first of those that share the address"
// +kubebuilder:validation:XValidation:rule="!has(self.shares) || self.role == 'New'",message="shares go with role New: an old or adopted address is held by one entry point alone"
type AddressClaimSpec struct {
	// address in canonical form: IPv4 dotted, IPv6 as RFC 5952 writes it. It never changes.
	// +required
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=45
	// +kubebuilder:validation:XValidation:rule="isIP(self) && ip.isCanonical(self)",message="address must be one IP address in canonical form (10.0.0.5, 2001:db8::1): no leading zeros, zone, brackets, prefix length or IPv4-mapped form"
	// +kubebuilder:validation:XValidation:rule="!isIP(self) || ip(self).isGlobalUnicast()",message="address must be a unicast address that can be routed: not unspecified, loopback, link-local, multicast or broadcast"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="address is immutable: the claim is the lock on this one address; create another claim for another address"
	Address string `json:"address"`
	// role of the address in the walk.
	// +required
	Role ClaimRole `json:"role"`
	// entryPoint that holds it. It never changes: an address changes hands only by a new claim. Where the address is
	// shared, it is one of those that share it, and passes to the next when it lets go.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	EntryPoint string `json:"entryPoint"`
	// holders are the Services that may carry it, with the ports they use. Where the address is shared, those of all shares.
	// +required
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=100
	// +listType=map
	// +listMapKey=namespace
	// +listMapKey=name
	Holders []ClaimHolder `json:"holders"`
	// shares are the entry points that hold the address together, in the order in which they came: the address of a static
	// Service serves them all. Absent: entryPoint holds the address alone.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	// +listType=map
	// +listMapKey=entryPoint
	Shares []ClaimShare `json:"shares,omitempty"`
	// reason is one sentence.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`
}

// ClaimHolder is one Service that may carry the address.
type ClaimHolder struct {
	// namespace of the Service.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// name of the Service.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// ports in the form TCP/80.
	// +required
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=10
	// +kubebuilder:validation:items:Pattern=`^(TCP|UDP|SCTP)/[1-9][0-9]{0,4}$`
	// +listType=set
	Ports []string `json:"ports"`
}

// ClaimShare is what one entry point holds of an address that several share.
type ClaimShare struct {
	// entryPoint that holds the share.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	EntryPoint string `json:"entryPoint"`
	// holders are the Services that carry the address for it.
	// +required
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=100
	// +listType=map
	// +listMapKey=namespace
	// +listMapKey=name
	Holders []ClaimHolder `json:"holders"`
	// listeners are what it uses of the address. No two shares may meet: a port without hostnames is one entry point's
	// alone, a hostname on a port too.
	// +required
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=port
	// +listMapKey=protocol
	Listeners []ClaimListener `json:"listeners"`
}

// ListenerProtocol is how a port is served.
// +kubebuilder:validation:Enum=HTTP;TLS;TCP
type ListenerProtocol string

// The protocols of listeners, in the words of the Gateway API.
const (
	// ListenerHTTP tells hostnames apart by the Host header.
	ListenerHTTP ListenerProtocol = "HTTP"
	// ListenerTLS tells hostnames apart by SNI and passes TLS through.
	ListenerTLS ListenerProtocol = "TLS"
	// ListenerTCP tells nothing apart: the port is one entry point's alone.
	ListenerTCP ListenerProtocol = "TCP"
)

// ClaimListener is one port of a share, with the hostnames served on it.
type ClaimListener struct {
	// port in the form TCP/80.
	// +required
	// +kubebuilder:validation:MinLength=5
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:Pattern=`^(TCP|UDP|SCTP)/[1-9][0-9]{0,4}$`
	Port string `json:"port"`
	// protocol spoken on the port. Two entry points share a port only where it is the same.
	// +required
	Protocol ListenerProtocol `json:"protocol"`
	// hostnames served on the port; a leading *. stands for every name below. None: the whole port.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +listType=set
	Hostnames []string `json:"hostnames,omitempty"`
}

// AddressClaimStatus says whether the address is safe.
type AddressClaimStatus struct {
	// conditions: Ready, AddressAtRisk.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// AddressClaim is one row of the ledger: who may hold an address. Creating it is the lock; its name is the address: an
// IPv4 address as it is, an IPv6 address with "-" for ":" and a 0 before a leading or behind a trailing "::".
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=claim,categories=offramp
// +kubebuilder:printcolumn:name="Address",type=string,JSONPath=`.spec.address`
// +kubebuilder:printcolumn:name="Role",type=string,JSONPath=`.spec.role`
// +kubebuilder:printcolumn:name="EntryPoint",type=string,JSONPath=`.spec.entryPoint`
// +kubebuilder:printcolumn:name="Also",type=string,JSONPath=`.spec.shares[1].entryPoint`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Why",type=string,JSONPath=`.spec.reason`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name == (self.spec.address.contains(':') ? (self.spec.address.startsWith('::') ? '0' : \"\") + self.spec.address.replace(':', '-') + (self.spec.address.endsWith('::') ? '0' : \"\") : self.spec.address)",message="metadata.name must be the address: IPv4 as it is, IPv6 with - for : and a 0 before a leading or behind a trailing :: (2001:db8::1 is 2001-db8--1, 2001:db8:: is 2001-db8--0)"
type AddressClaim struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says who may hold the address.
	// +required
	Spec AddressClaimSpec `json:"spec"`
	// status says whether the address is safe.
	// +optional
	Status AddressClaimStatus `json:"status,omitempty"`
}

// AddressClaimList is a list of AddressClaims.
// +kubebuilder:object:root=true
type AddressClaimList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AddressClaim `json:"items"`
}
