package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ObservationSource is who saw it.
// +kubebuilder:validation:Enum=Node;External;Imported
type ObservationSource string

// The sources.
const (
	SourceNode     ObservationSource = "Node"
	SourceExternal ObservationSource = "External"
	SourceImported ObservationSource = "Imported"
)

// Signal is one of the three things a node can measure about a tuple (design: drain).
// +kubebuilder:validation:Enum=Counters;Entries;Events
type Signal string

// The signals: packet counters before conntrack, conntrack entries, conntrack events.
const (
	SignalCounters Signal = "Counters"
	SignalEntries  Signal = "Entries"
	SignalEvents   Signal = "Events"
)

// ProxyMode is how the node serves Services.
// +kubebuilder:validation:Enum=NFTables;IPTables;IPVS;Other
type ProxyMode string

// The proxy modes.
const (
	ProxyNFTables ProxyMode = "NFTables"
	ProxyIPTables ProxyMode = "IPTables"
	ProxyIPVS     ProxyMode = "IPVS"
	ProxyOther    ProxyMode = "Other"
)

// ObservationStatus is what one source saw, with its coverage and gaps.
type ObservationStatus struct {
	// source of what follows.
	Source ObservationSource `json:"source"`
	// node it speaks of, for source Node.
	Node string `json:"node,omitempty"`
	// reportedAt is when the source last wrote; older than staleAfterSeconds means unknown.
	ReportedAt metav1.Time `json:"reportedAt"`
	// staleAfterSeconds is how long the report may be believed.
	StaleAfterSeconds int32 `json:"staleAfterSeconds"`
	// coverageSince is since when the source has looked without a gap.
	CoverageSince metav1.Time `json:"coverageSince"`
	// watched is the SHA-256 of the sorted list of watched tuples, so that an absent row means zero and not "not looked".
	Watched string `json:"watched,omitempty"`
	// signals that the source can measure on this node.
	Signals []Signal `json:"signals,omitempty"`
	// proxyMode of the node.
	ProxyMode ProxyMode `json:"proxyMode,omitempty"`
	// bootID of the node; a change is a gap.
	BootID string `json:"bootID,omitempty"`
	// traffic holds one row for each watched tuple that was ever used since coverageSince.
	Traffic []TupleTraffic `json:"traffic,omitempty"`
	// overflow is set when there were more rows than fit: what is absent is unknown.
	Overflow bool `json:"overflow,omitempty"`
	// probes are results of an external prober.
	Probes []ProbeReport `json:"probes,omitempty"`
}

// TupleTraffic is the use of one address, port and protocol on one node.
type TupleTraffic struct {
	// address in canonical form.
	Address string `json:"address"`
	// port number.
	Port int32 `json:"port"`
	// protocol: TCP, UDP or SCTP.
	Protocol string `json:"protocol"`
	// established connections now.
	Established int64 `json:"established"`
	// lastNew is when the last new, replied connection began (UDP: the last packet).
	LastNew *metav1.Time `json:"lastNew,omitempty"`
}

// ProbeReport is one check by an external prober.
type ProbeReport struct {
	// address that was checked.
	Address string `json:"address"`
	// port that was checked.
	Port int32 `json:"port"`
	// protocol: TCP, UDP or SCTP.
	Protocol string `json:"protocol"`
	// at is when.
	At metav1.Time `json:"at"`
	// outcome: Good, Failed or Inconclusive.
	Outcome string `json:"outcome"`
	// message for a human.
	Message string `json:"message,omitempty"`
}

// Observation is what one source saw. It has no spec: only its source writes it.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=obs
type Observation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Status ObservationStatus `json:"status,omitempty"`
}

// ObservationList is a list of Observations.
// +kubebuilder:object:root=true
type ObservationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Observation `json:"items"`
}
