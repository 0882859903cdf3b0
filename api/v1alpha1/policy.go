package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MigrationPolicySpec says what tenants may opt into. Absent numbers mean the documented default, never zero.
type MigrationPolicySpec struct {
	// namespaces whose Services may opt in.
	Namespaces []string `json:"namespaces"`
	// strategies that are allowed; empty means all.
	Strategies []Strategy `json:"strategies,omitempty"`
	// gateway is needed for the strategy Gateway.
	Gateway *GatewaySettings `json:"gateway,omitempty"`
	// pools are names of MetalLB IPAddressPools that new addresses may come from.
	Pools []string `json:"pools,omitempty"`
	// zones are names of DNSZones.
	Zones []string `json:"zones,omitempty"`
	// dns holds TTLs and share steps.
	DNS DNSSettings `json:"dns,omitempty"`
	// probes that prove the new path.
	Probes ProbeSettings `json:"probes,omitempty"`
	// drain holds the windows of the old path.
	Drain DrainSettings `json:"drain,omitempty"`
	// soakSeconds is how long the new path must stay good after release. Default 600.
	SoakSeconds *int32 `json:"soakSeconds,omitempty"`
	// recheckSeconds is how often a finished walk in retention looks again. Default 3600.
	RecheckSeconds *int32 `json:"recheckSeconds,omitempty"`
	// onFailure says what happens when the new path fails while names serve it. Default ShiftBack.
	OnFailure OnFailure `json:"onFailure,omitempty"`
	// autoAdvance lets entry points walk this far without a goal written by a human: Stage or CutOver.
	AutoAdvance Goal `json:"autoAdvance,omitempty"`
	// freezeWindows are times in which no walk takes a step forward.
	FreezeWindows []FreezeWindow `json:"freezeWindows,omitempty"`
}

// OnFailure is what to do when the new path fails during the shift.
// +kubebuilder:validation:Enum=ShiftBack;Hold
type OnFailure string

// The two answers to a failure.
const (
	OnFailureShiftBack OnFailure = "ShiftBack"
	OnFailureHold      OnFailure = "Hold"
)

// BindingProfile is how an implementation binds a Gateway to an address.
// +kubebuilder:validation:Enum=Annotation;StaticService
type BindingProfile string

// The binding profiles. Annotation: the generated Service takes infrastructure annotations. StaticService: an
// admin's Service carries the address, the implementation merges all Gateways onto it.
const (
	BindingAnnotation    BindingProfile = "Annotation"
	BindingStaticService BindingProfile = "StaticService"
)

// GatewaySettings says where Gateways go.
type GatewaySettings struct {
	// className is the GatewayClass.
	ClassName string `json:"className"`
	// namespace of the admin-owned Gateways.
	Namespace string `json:"namespace"`
	// profile overrides what is known about the class's controller.
	Profile BindingProfile `json:"profile,omitempty"`
	// staticService is the implementation's Service in profile StaticService.
	StaticService *ServiceReference `json:"staticService,omitempty"`
	// httpPorts are Service ports, by number, that speak HTTP though no appProtocol says so.
	HTTPPorts []int32 `json:"httpPorts,omitempty"`
	// tcpRoutes asks for TCPRoutes where a LoadBalancer would be chosen.
	TCPRoutes bool `json:"tcpRoutes,omitempty"`
}

// DNSSettings holds TTLs and share steps.
type DNSSettings struct {
	// lowTTLSeconds during the walk. Default 30.
	LowTTLSeconds *int32 `json:"lowTTLSeconds,omitempty"`
	// sharePercents are the steps of the shift: 50 and 100, ending in 100. Default [50, 100].
	SharePercents []int32 `json:"sharePercents,omitempty"`
	// soakSeconds between two steps. Default 300.
	SoakSeconds *int32 `json:"soakSeconds,omitempty"`
}

// Vantage is where a probe looks from.
// +kubebuilder:validation:Enum=Pod;Node;External;Neighbour
type Vantage string

// The vantages.
const (
	VantagePod       Vantage = "Pod"
	VantageNode      Vantage = "Node"
	VantageExternal  Vantage = "External"
	VantageNeighbour Vantage = "Neighbour"
)

// ProbeSettings say what a good path is.
type ProbeSettings struct {
	// rounds that must be good in a row. Default 3.
	Rounds *int32 `json:"rounds,omitempty"`
	// intervalSeconds between two rounds. Default 10.
	IntervalSeconds *int32 `json:"intervalSeconds,omitempty"`
	// timeoutSeconds of one check. Default 5.
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
	// httpPath that HTTP checks ask for. Default /.
	HTTPPath string `json:"httpPath,omitempty"`
	// vantages that must have looked. Default [Pod].
	Vantages []Vantage `json:"vantages,omitempty"`
}

// Attraction is what brings packets for the old address to a node.
// +kubebuilder:validation:Enum=Static;Interface;Announcer;Unknown
type Attraction string

// The attractions.
const (
	AttractionStatic    Attraction = "Static"
	AttractionInterface Attraction = "Interface"
	AttractionAnnouncer Attraction = "Announcer"
	AttractionUnknown   Attraction = "Unknown"
)

// DrainSettings say when the old path counts as unused.
type DrainSettings struct {
	// windowSeconds without a new connection. Default 3600.
	WindowSeconds *int32 `json:"windowSeconds,omitempty"`
	// maxConnectionLifetimeSeconds is the declared longest life of a connection. Absent: wait for zero.
	MaxConnectionLifetimeSeconds *int32 `json:"maxConnectionLifetimeSeconds,omitempty"`
	// attraction of the old addresses, where the admin knows it. Default Unknown.
	Attraction Attraction `json:"attraction,omitempty"`
}

// FreezeWindow is a time in which nothing moves forward.
type FreezeWindow struct {
	// start of the freeze.
	Start metav1.Time `json:"start"`
	// end of the freeze.
	End metav1.Time `json:"end"`
	// reason is shown while it holds.
	Reason string `json:"reason"`
}

// MigrationPolicyStatus says whether the policy can be used.
type MigrationPolicyStatus struct {
	// conditions: Ready says that class, pools and zones exist.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// entryPoints that use this policy.
	EntryPoints int32 `json:"entryPoints,omitempty"`
}

// MigrationPolicy says what tenants may opt into.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=migpol
type MigrationPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   MigrationPolicySpec   `json:"spec"`
	Status MigrationPolicyStatus `json:"status,omitempty"`
}

// MigrationPolicyList is a list of MigrationPolicies.
// +kubebuilder:object:root=true
type MigrationPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MigrationPolicy `json:"items"`
}
