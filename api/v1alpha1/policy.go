package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MigrationPolicySpec says what tenants may opt into. Absent numbers mean the documented default, never zero.
// +kubebuilder:validation:XValidation:rule="!has(self.strategies) || !('Gateway' in self.strategies) || has(self.gateway)",message="strategies names Gateway: say in gateway which GatewayClass and namespace to use"
type MigrationPolicySpec struct {
	// namespaces whose Services may opt in.
	// +required
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +listType=set
	Namespaces []string `json:"namespaces"`
	// strategies that are allowed; empty means all.
	// +optional
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	Strategies []Strategy `json:"strategies,omitempty"`
	// gateway is needed for the strategy Gateway.
	// +optional
	Gateway *GatewaySettings `json:"gateway,omitempty"`
	// pools are names of MetalLB IPAddressPools that new addresses may come from.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	Pools []string `json:"pools,omitempty"`
	// zones are names of DNSZones.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	Zones []string `json:"zones,omitempty"`
	// dns holds TTLs and share steps.
	// +optional
	DNS DNSSettings `json:"dns,omitempty"`
	// probes that prove the new path.
	// +optional
	Probes ProbeSettings `json:"probes,omitempty"`
	// drain holds the windows of the old path.
	// +optional
	Drain DrainSettings `json:"drain,omitempty"`
	// soakSeconds is how long the new path must stay good after release. Default 600.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2592000
	SoakSeconds *int32 `json:"soakSeconds,omitempty"`
	// retention is how long the way back is kept after release.
	// +optional
	Retention RetentionSettings `json:"retention,omitempty"`
	// recheckSeconds is how often a finished walk in retention looks again. Default 3600.
	// +optional
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=604800
	RecheckSeconds *int32 `json:"recheckSeconds,omitempty"`
	// onFailure says what happens when the new path fails while names serve it. Default ShiftBack.
	// +optional
	OnFailure OnFailure `json:"onFailure,omitempty"`
	// autoAdvance is how far entry points walk whose goal a human has raised above Report, even if to less: Stage or CutOver.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == 'Stage' || self == 'CutOver'",message="autoAdvance may be Stage or CutOver: release and forget stay a human's decision"
	AutoAdvance Goal `json:"autoAdvance,omitempty"`
	// freezeWindows are times in which no walk takes a step forward.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
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

// The binding profiles.
const (
	// BindingAnnotation: the generated Service takes infrastructure annotations.
	BindingAnnotation BindingProfile = "Annotation"
	// BindingStaticService: an admin's Service carries the address, the implementation merges all Gateways onto it.
	BindingStaticService BindingProfile = "StaticService"
)

// GatewaySettings says where Gateways go.
// +kubebuilder:validation:XValidation:rule="(has(self.profile) && self.profile == 'StaticService') == has(self.staticService)",message="staticService goes with profile StaticService: set both or neither"
type GatewaySettings struct {
	// className is the GatewayClass.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClassName string `json:"className"`
	// namespace of the admin-owned Gateways.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace"`
	// profile overrides what is known about the class's controller.
	// +optional
	Profile BindingProfile `json:"profile,omitempty"`
	// override says, field by field, what is known better than the table of profiles does. What is absent stays as in the table.
	// +optional
	Override *ProfileOverride `json:"override,omitempty"`
	// staticService is the implementation's Service in profile StaticService.
	// +optional
	StaticService *ServiceReference `json:"staticService,omitempty"`
	// httpPorts are Service ports, by number, that speak HTTP though no appProtocol says so.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=65535
	// +listType=set
	HTTPPorts []int32 `json:"httpPorts,omitempty"`
	// tcpRoutes asks for TCPRoutes where a LoadBalancer would be chosen.
	// +optional
	TCPRoutes bool `json:"tcpRoutes,omitempty"`
}

// ProfileOverride replaces fields of the profile of a GatewayClass's controller, for a version or an implementation that the
// table does not know.
// +kubebuilder:validation:MinProperties=1
type ProfileOverride struct {
	// merges: all Gateways of the class share one data plane, so hostnames are required and a TCP port belongs to one entry point.
	// +optional
	Merges *bool `json:"merges,omitempty"`
	// writesExternalIPs: the implementation turns Gateway.spec.addresses into Service.spec.externalIPs.
	// +optional
	WritesExternalIPs *bool `json:"writesExternalIPs,omitempty"`
	// prefersDualStack: on a dual-stack cluster the generated Service gets both families, for which MetalLB refuses one address.
	// +optional
	PrefersDualStack *bool `json:"prefersDualStack,omitempty"`
	// routes are the kinds that the implementation serves.
	// +optional
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:Enum=HTTPRoute;TLSRoute;TCPRoute
	// +listType=set
	Routes []string `json:"routes,omitempty"`
	// ports are the only ones that the implementation serves.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=65535
	// +listType=set
	Ports []int32 `json:"ports,omitempty"`
}

// DNSSettings holds TTLs and share steps.
type DNSSettings struct {
	// lowTTLSeconds during the walk. Default 30.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	LowTTLSeconds *int32 `json:"lowTTLSeconds,omitempty"`
	// sharePercents are the steps of the shift, for example 10, 25, 50 and 100. Below 50 the old set and that of both take
	// turns, which needs name servers that rotate what they answer. Default [50, 100].
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=100
	// +listType=set
	// +kubebuilder:validation:XValidation:rule="self.isSorted() && self.exists(s, s == 100)",message="sharePercents must grow and end with 100, for example [100], [50, 100] or [10, 25, 50, 100]"
	// +kubebuilder:validation:XValidation:rule="self.all(s, s <= 50 || s == 100)",message="a share is 1 to 50, or 100: no set of records leaves the old side a minority that is still there when the controller is not"
	SharePercents []int32 `json:"sharePercents,omitempty"`
	// soakSeconds between two steps. Default 300.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=604800
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
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Rounds *int32 `json:"rounds,omitempty"`
	// intervalSeconds between two rounds. Default 10.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	IntervalSeconds *int32 `json:"intervalSeconds,omitempty"`
	// timeoutSeconds of one check. Default 5.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=60
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
	// httpPath that HTTP checks ask for. Default /.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^(/[!-~]*)?$`
	HTTPPath string `json:"httpPath,omitempty"`
	// vantages that must have looked. Default [Pod].
	// +optional
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	Vantages []Vantage `json:"vantages,omitempty"`
	// ports say how single ports are checked, where more is known than their Service says.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=protocol
	// +listMapKey=port
	Ports []PortProbe `json:"ports,omitempty"`
	// failureLimit is how many of the last ten rounds may fail before the path has failed. Default 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=9
	FailureLimit *int32 `json:"failureLimit,omitempty"`
	// inconclusiveLimit is how many rounds in a row may measure nothing before the path is unknown again. Default 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	InconclusiveLimit *int32 `json:"inconclusiveLimit,omitempty"`
	// headers whose values are compared.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[-A-Za-z0-9_]+$`
	// +listType=set
	Headers []string `json:"headers,omitempty"`
	// mustMatch are the aspects in which a difference that nothing explains fails the new path; other differences are listed
	// only. Default [Status, Certificate].
	// +optional
	// +kubebuilder:validation:MaxItems=7
	// +listType=set
	MustMatch []ProbeAspect `json:"mustMatch,omitempty"`
	// latencyPercent is how long 95 of 100 checks of the new path may take, in percent of the old. Default 200.
	// +optional
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=10000
	LatencyPercent *int32 `json:"latencyPercent,omitempty"`
}

// Attraction is what brings packets for the old address to a node.
// +kubebuilder:validation:Enum=Static;Interface;Announcer;Unknown
type Attraction string

// The attractions.
const (
	// AttractionStatic: a router's static route.
	AttractionStatic Attraction = "Static"
	// AttractionInterface: the address lies on a node's interface.
	AttractionInterface Attraction = "Interface"
	// AttractionAnnouncer: something announces the route because of the field.
	AttractionAnnouncer Attraction = "Announcer"
	// AttractionUnknown: nobody said.
	AttractionUnknown Attraction = "Unknown"
)

// DrainSettings say when the old path counts as unused.
type DrainSettings struct {
	// windowSeconds without a new connection. Default 3600.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2592000
	WindowSeconds *int32 `json:"windowSeconds,omitempty"`
	// maxConnectionLifetimeSeconds is the declared longest life of a connection. Absent: wait for zero.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2592000
	MaxConnectionLifetimeSeconds *int32 `json:"maxConnectionLifetimeSeconds,omitempty"`
	// attraction of the old addresses, where the admin knows it. Default Unknown.
	// +optional
	Attraction Attraction `json:"attraction,omitempty"`
}

// RetentionSettings say how long a snapshot is kept. Time alone never deletes one: that takes the goal Forget and its facts.
// +kubebuilder:validation:XValidation:rule="!has(self.seconds) || self.seconds <= (has(self.maxSeconds) ? self.maxSeconds : 31536000)",message="retention.seconds must not be more than retention.maxSeconds (default 31536000, a year)"
type RetentionSettings struct {
	// seconds for which a snapshot is kept at least, from release on. Absent: as long as the evidence of Forgotten asks for.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=315360000
	Seconds *int32 `json:"seconds,omitempty"`
	// maxSeconds from release on up to which kubectl offramp extend may keep it. Default 31536000.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=315360000
	MaxSeconds *int32 `json:"maxSeconds,omitempty"`
}

// FreezeWindow is a time in which nothing moves forward.
// +kubebuilder:validation:XValidation:rule="self.start < self.end",message="end must be after start"
type FreezeWindow struct {
	// start of the freeze.
	// +required
	Start metav1.Time `json:"start"`
	// end of the freeze.
	// +required
	End metav1.Time `json:"end"`
	// reason is shown while it holds.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason"`
}

// MigrationPolicyStatus says whether the policy can be used.
type MigrationPolicyStatus struct {
	// conditions: Ready says that class, pools and zones exist.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// entryPoints that use this policy.
	// +optional
	// +kubebuilder:validation:Minimum=0
	EntryPoints int32 `json:"entryPoints,omitempty"`
}

// MigrationPolicy says what tenants may opt into.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=migpol,categories=offramp
// +kubebuilder:printcolumn:name="Class",type=string,JSONPath=`.spec.gateway.className`
// +kubebuilder:printcolumn:name="Pools",type=string,JSONPath=`.spec.pools`
// +kubebuilder:printcolumn:name="Zones",type=string,JSONPath=`.spec.zones`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="EntryPoints",type=integer,JSONPath=`.status.entryPoints`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type MigrationPolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what is allowed, and how fast.
	// +required
	Spec MigrationPolicySpec `json:"spec"`
	// status says whether the policy can be used.
	// +optional
	Status MigrationPolicyStatus `json:"status,omitempty"`
}

// MigrationPolicyList is a list of MigrationPolicies.
// +kubebuilder:object:root=true
type MigrationPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MigrationPolicy `json:"items"`
}
