package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Goal is how far a human lets an entry point walk.
// +kubebuilder:validation:Enum=Report;Stage;CutOver;Release;Forget
type Goal string

// The goals in their order; each includes the ones before it.
const (
	// GoalReport looks and writes nothing but reports.
	GoalReport Goal = "Report"
	// GoalStage makes the new path, unused, beside the old one.
	GoalStage Goal = "Stage"
	// GoalCutOver moves the names.
	GoalCutOver Goal = "CutOver"
	// GoalRelease removes the field once the old path has drained.
	GoalRelease Goal = "Release"
	// GoalForget removes the snapshot once evidence says that nobody needs it.
	GoalForget Goal = "Forget"
)

// Direction is the way the gate table is walked.
// +kubebuilder:validation:Enum=Forward;Back
type Direction string

// The two directions.
const (
	DirectionForward Direction = "Forward"
	DirectionBack    Direction = "Back"
)

// Strategy is how an entry point is served afterwards.
// +kubebuilder:validation:Enum=Gateway;LoadBalancer;Adopt;None
type Strategy string

// The strategies. None is for entry points that need no move (an inert field).
const (
	StrategyGateway      Strategy = "Gateway"
	StrategyLoadBalancer Strategy = "LoadBalancer"
	StrategyAdopt        Strategy = "Adopt"
	StrategyNone         Strategy = "None"
)

// EntryPointSpec is written by humans only (the plugin writes it on their behalf). The controller creates it once with
// goal Report.
// +kubebuilder:validation:XValidation:rule="self.goal in ['Report', 'Stage'] || (has(self.approvedPlan) && self.approvedPlan.size() > 0)",messageExpression="'goal ' + self.goal + ' needs approvedPlan: read the plan with kubectl offramp plan, then approve its hash with kubectl offramp advance'",message="a goal past Stage needs approvedPlan"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.retention) || has(self.retention)",message="retention only moves forward: it cannot be taken away, only extended"
type EntryPointSpec struct {
	// policy names the MigrationPolicy that the members opted into. It never changes.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="policy is immutable: opt the Services into the other policy instead, a new entry point follows"
	Policy string `json:"policy"`
	// members are the Services that move together, frozen when recorded.
	// +required
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +listType=map
	// +listMapKey=namespace
	// +listMapKey=name
	Members []ServiceReference `json:"members"`
	// goal is how far to walk. It begins at Report; raising it past Stage needs approvedPlan.
	// +required
	// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self == 'Report'",optionalOldSelf=true,message="goal begins at Report: create the entry point so, then raise the goal"
	Goal Goal `json:"goal"`
	// direction is Forward, or Back to undo.
	// +required
	Direction Direction `json:"direction"`
	// attempt re-arms a walk that was aborted, reverted or undone. It only grows.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:XValidation:rule="self >= oldSelf",message="attempt never falls: keep it, or raise it by one for a new try"
	Attempt int64 `json:"attempt"`
	// approvedPlan is the SHA-256 (hex) of the plan a human agreed to: status.planHash at that time.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^([0-9a-f]{64})?$`
	ApprovedPlan string `json:"approvedPlan,omitempty"`
	// paused stops the walk where it is; it does not stop an abort.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// strategy overrides the choice the inventory made, within what the policy allows.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self != 'None'",message="strategy None is what the inventory finds where nothing needs to move, never a wish: leave the field out"
	Strategy Strategy `json:"strategy,omitempty"`
	// waivers are signed exceptions to a gate's evidence.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	Waivers []Waiver `json:"waivers,omitempty"`
	// retention keeps the snapshot, and with it the way back, for longer than the policy asks. It only moves forward, and
	// never past the policy's retention.maxSeconds. Its end deletes nothing.
	// +optional
	Retention *Retention `json:"retention,omitempty"`
}

// Retention is a signed wish to keep the way back until a time.
type Retention struct {
	// until is when the snapshot need not be kept any more.
	// +required
	// +kubebuilder:validation:XValidation:rule="self >= oldSelf",message="retention.until only moves forward: leave it, or name a later time"
	Until metav1.Time `json:"until"`
	// requester signs; it is the user who writes this, and nobody else.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Requester string `json:"requester"`
	// reason is for the next reader.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason"`
}

// ServiceReference names one Service.
type ServiceReference struct {
	// namespace of the Service.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace"`
	// name of the Service.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
}

// Waiver is a signed exception: a gate may pass without its evidence, until it expires.
type Waiver struct {
	// gate that may pass, for example Drained.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z]*$`
	Gate string `json:"gate"`
	// requester signs.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Requester string `json:"requester"`
	// reason is for the next reader.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason"`
	// expires is when the waiver ends.
	// +required
	Expires metav1.Time `json:"expires"`
}
