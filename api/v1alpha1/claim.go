package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ClaimRole tells an old address from a new one.
// +kubebuilder:validation:Enum=Old;New;Adopted
type ClaimRole string

// The roles.
const (
	ClaimOld     ClaimRole = "Old"
	ClaimNew     ClaimRole = "New"
	ClaimAdopted ClaimRole = "Adopted"
)

// AddressClaimSpec is one row of the ledger. Creating the object is the lock on the address.
type AddressClaimSpec struct {
	// address in canonical form (RFC 5952).
	Address string `json:"address"`
	// role of the address in the walk.
	Role ClaimRole `json:"role"`
	// entryPoint that holds it.
	EntryPoint string `json:"entryPoint"`
	// holders are the Services that may carry it, with the ports they use.
	Holders []ClaimHolder `json:"holders"`
	// reason is one sentence.
	Reason string `json:"reason,omitempty"`
}

// ClaimHolder is one Service that may carry the address.
type ClaimHolder struct {
	// namespace of the Service.
	Namespace string `json:"namespace"`
	// name of the Service.
	Name string `json:"name"`
	// ports in the form TCP/80.
	Ports []string `json:"ports"`
}

// AddressClaimStatus says whether the address is safe.
type AddressClaimStatus struct {
	// conditions: Ready, AddressAtRisk.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// AddressClaim is one row of the ledger: who may hold an address. Its name is the address (see addresspool.ClaimName).
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster
type AddressClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   AddressClaimSpec   `json:"spec"`
	Status AddressClaimStatus `json:"status,omitempty"`
}

// AddressClaimList is a list of AddressClaims.
// +kubebuilder:object:root=true
type AddressClaimList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AddressClaim `json:"items"`
}
