package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ObservationSource is who saw it.
// +kubebuilder:validation:Enum=Node;External;Imported
type ObservationSource string

// The sources.
const (
	// SourceNode is the agent of one node; the object has the node's name.
	SourceNode ObservationSource = "Node"
	// SourceExternal is a prober outside the cluster.
	SourceExternal ObservationSource = "External"
	// SourceImported is somebody else's measurement, for datapaths the agent cannot see.
	SourceImported ObservationSource = "Imported"
)

// Signal is one of the three things a node can measure about an address, port and protocol.
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
// +kubebuilder:validation:XValidation:rule="self.source != 'Node' || (has(self.node) && self.node.size() > 0)",message="source Node needs node: the name of the node that was observed"
type ObservationStatus struct {
	// source of what follows.
	// +required
	Source ObservationSource `json:"source"`
	// node it speaks of, for source Node.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node,omitempty"`
	// reportedAt is when the source last wrote; older than staleAfterSeconds means unknown.
	// +required
	ReportedAt metav1.Time `json:"reportedAt"`
	// report names what was written last. While the Lease of the source (of the agent, in its namespace, by the name of this
	// object) has this name as its holderIdentity, nothing has changed up to the Lease's renewTime. Empty: only reportedAt counts.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=64
	Report string `json:"report,omitempty"`
	// staleAfterSeconds is how long the report may be believed.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	StaleAfterSeconds int32 `json:"staleAfterSeconds"`
	// coverageSince is since when the source has looked without a gap.
	// +required
	CoverageSince metav1.Time `json:"coverageSince"`
	// watched is the SHA-256 of the sorted list of watched tuples, so that an absent row means zero and not "not looked".
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^([0-9a-f]{64})?$`
	Watched string `json:"watched,omitempty"`
	// signals that the source can measure on this node.
	// +optional
	// +kubebuilder:validation:MaxItems=3
	// +listType=set
	Signals []Signal `json:"signals,omitempty"`
	// proxyMode of the node.
	// +optional
	ProxyMode ProxyMode `json:"proxyMode,omitempty"`
	// bootID of the node; a change is a gap.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=128
	BootID string `json:"bootID,omitempty"`
	// blindSpots are what may keep the source from seeing packets or connections now. With any of them its silence is unknown.
	// +optional
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	BlindSpots []BlindSpot `json:"blindSpots,omitempty"`
	// gaps are the latest interruptions of coverage, newest last.
	// +optional
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	Gaps []ObservationGap `json:"gaps,omitempty"`
	// traffic holds one row for each watched tuple that was ever used since coverageSince, or is covered for a shorter time.
	// +optional
	// +kubebuilder:validation:MaxItems=500
	// +listType=atomic
	Traffic []TupleTraffic `json:"traffic,omitempty"`
	// overflow is set when there were more rows than fit: what is absent is unknown.
	// +optional
	Overflow bool `json:"overflow,omitempty"`
	// probes are results of an external prober.
	// +optional
	// +kubebuilder:validation:MaxItems=200
	// +listType=atomic
	Probes []ProbeReport `json:"probes,omitempty"`
}

// TupleTraffic is the use of one address, port and protocol on one node.
type TupleTraffic struct {
	// address in canonical form.
	// +required
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=45
	Address string `json:"address"`
	// port number.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
	// protocol: TCP, UDP or SCTP.
	// +required
	// +kubebuilder:validation:Enum=TCP;UDP;SCTP
	Protocol string `json:"protocol"`
	// established connections now.
	// +required
	// +kubebuilder:validation:Minimum=0
	Established int64 `json:"established"`
	// lastNew is when the last new, replied connection began (UDP: the last packet).
	// +optional
	LastNew *metav1.Time `json:"lastNew,omitempty"`
	// since is since when this tuple is looked at without a gap, where that is later than coverageSince.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// halfOpen connections now: attempts that nobody has answered yet.
	// +optional
	// +kubebuilder:validation:Minimum=0
	HalfOpen int64 `json:"halfOpen,omitempty"`
	// lastAttempt is when somebody last tried to connect, answered or not.
	// +optional
	LastAttempt *metav1.Time `json:"lastAttempt,omitempty"`
	// translated connections now: the backend does not see the address of the client, because the node puts another in its
	// place.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Translated int64 `json:"translated,omitempty"`
	// listener is set where a process of the node itself listens on the port: without the rules of the Service, what is sent
	// to an address that the node has reaches that process.
	// +optional
	Listener bool `json:"listener,omitempty"`
}

// BlindReason is why a source may not see everything.
// +kubebuilder:validation:Enum=Offload;XDP;TrafficControl;ConntrackPressure;Undetermined
type BlindReason string

// The reasons.
const (
	// BlindOffload: a flowtable takes packets of known connections past the counters.
	BlindOffload BlindReason = "Offload"
	// BlindXDP: a program on a network device may take packets before netfilter sees them.
	BlindXDP BlindReason = "XDP"
	// BlindTrafficControl: a program at the ingress of a network device may take packets before netfilter sees them.
	BlindTrafficControl BlindReason = "TrafficControl"
	// BlindPressure: the conntrack table is nearly full, so that entries are dropped before their time.
	BlindPressure BlindReason = "ConntrackPressure"
	// BlindUndetermined: it could not be looked whether there is one of the others.
	BlindUndetermined BlindReason = "Undetermined"
)

// BlindSpot is one thing that may keep a source from seeing everything.
type BlindSpot struct {
	// reason of the blindness.
	// +required
	Reason BlindReason `json:"reason"`
	// message for a human: which device, or which table.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=256
	Message string `json:"message,omitempty"`
}

// GapReason is why an observation has a gap.
// +kubebuilder:validation:Enum=Started;SignalsChanged;DatapathChanged;CountersLost;EventsLost;EntriesVanished;TooManyTuples;ConntrackPressure
type GapReason string

// The reasons.
const (
	// GapStarted: the source began, or began again; what was before it did not see.
	GapStarted GapReason = "Started"
	// GapSignals: a signal was lost or came back.
	GapSignals GapReason = "SignalsChanged"
	// GapDatapath: the node serves Services in another way.
	GapDatapath GapReason = "DatapathChanged"
	// GapCounters: the packet counters were removed, changed or reset by somebody else.
	GapCounters GapReason = "CountersLost"
	// GapEvents: conntrack events were lost, for example to a full socket.
	GapEvents GapReason = "EventsLost"
	// GapVanished: connections that stood were gone without having ended: somebody flushed the table. Only their tuples
	// begin anew.
	GapVanished GapReason = "EntriesVanished"
	// GapTuples: too many tuples began later than the rest, so that all of them count from the latest.
	GapTuples GapReason = "TooManyTuples"
	// GapPressure: the conntrack table was full, and the kernel dropped entries or packets.
	GapPressure GapReason = "ConntrackPressure"
)

// ObservationGap is one interruption of coverage.
type ObservationGap struct {
	// until is when coverage began anew.
	// +required
	Until metav1.Time `json:"until"`
	// reason of the gap.
	// +required
	Reason GapReason `json:"reason"`
	// message for a human.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=256
	Message string `json:"message,omitempty"`
}

// ProbeReport is one check by an external prober.
type ProbeReport struct {
	// address that was checked.
	// +required
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=45
	Address string `json:"address"`
	// port that was checked.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
	// protocol: TCP, UDP or SCTP.
	// +required
	// +kubebuilder:validation:Enum=TCP;UDP;SCTP
	Protocol string `json:"protocol"`
	// at is when.
	// +required
	At metav1.Time `json:"at"`
	// outcome: Good, Failed or Inconclusive.
	// +required
	// +kubebuilder:validation:Enum=Good;Failed;Inconclusive
	Outcome string `json:"outcome"`
	// message for a human.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// Observation is what one source saw. It has no spec: only its source writes it. A node's agent writes the object that
// has the node's name, and no other.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=obs,categories=offramp
// +kubebuilder:printcolumn:name="Source",type=string,JSONPath=`.status.source`
// +kubebuilder:printcolumn:name="Proxy",type=string,JSONPath=`.status.proxyMode`
// +kubebuilder:printcolumn:name="Signals",type=string,JSONPath=`.status.signals`
// +kubebuilder:printcolumn:name="Reported",type=date,JSONPath=`.status.reportedAt`
// +kubebuilder:printcolumn:name="Covered",type=date,JSONPath=`.status.coverageSince`
// +kubebuilder:validation:XValidation:rule="!has(self.status) || !has(self.status.source) || self.status.source != 'Node' || (has(self.status.node) && self.status.node == self.metadata.name)",message="an observation of source Node has the name of the node it speaks of"
type Observation struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// status is what was seen. Create the object first, then write its status.
	// +optional
	Status ObservationStatus `json:"status,omitempty"`
}

// ObservationList is a list of Observations.
// +kubebuilder:object:root=true
type ObservationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Observation `json:"items"`
}
