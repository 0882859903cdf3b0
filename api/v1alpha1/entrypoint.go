package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Goal is how far a human lets an entry point walk.
// +kubebuilder:validation:Enum=Report;Stage;CutOver;Release;Forget
type Goal string

// The goals in their order; each includes the ones before it.
const (
	GoalReport  Goal = "Report"
	GoalStage   Goal = "Stage"
	GoalCutOver Goal = "CutOver"
	GoalRelease Goal = "Release"
	GoalForget  Goal = "Forget"
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

// EntryPointSpec is written by humans only (the plugin writes it on their behalf). The controller creates it once with goal Report.
type EntryPointSpec struct {
	// policy names the MigrationPolicy that the members opted into.
	Policy string `json:"policy"`
	// members are the Services that move together, frozen when recorded.
	Members []ServiceReference `json:"members"`
	// goal is how far to walk. Raising it past Stage needs approvedPlan.
	Goal Goal `json:"goal"`
	// direction is Forward, or Back to undo.
	Direction Direction `json:"direction"`
	// attempt re-arms a walk that was aborted, reverted or undone. It only grows.
	Attempt int64 `json:"attempt"`
	// approvedPlan is the SHA-256 (hex) of the plan a human agreed to: status.planHash at that time.
	ApprovedPlan string `json:"approvedPlan,omitempty"`
	// paused stops the walk where it is; it does not stop an abort.
	Paused bool `json:"paused,omitempty"`
	// strategy overrides the choice the inventory made, within what the policy allows.
	Strategy Strategy `json:"strategy,omitempty"`
	// waivers are signed exceptions to a gate's evidence.
	Waivers []Waiver `json:"waivers,omitempty"`
}

// ServiceReference names one Service.
type ServiceReference struct {
	// namespace of the Service.
	Namespace string `json:"namespace"`
	// name of the Service.
	Name string `json:"name"`
}

// Waiver is a signed exception: a gate may pass without its evidence, until it expires.
type Waiver struct {
	// gate that may pass, for example Drained.
	Gate string `json:"gate"`
	// requester signs.
	Requester string `json:"requester"`
	// reason is for the next reader.
	Reason string `json:"reason"`
	// expires is when the waiver ends.
	Expires metav1.Time `json:"expires"`
}

// EntryPointStatus is what the controller saw, decided and did. It is output, never memory.
type EntryPointStatus struct {
	// conditions: Ready, Reconciling, Stalled, RollbackAvailable, and one per gate.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// strategy that the plan uses.
	Strategy Strategy `json:"strategy,omitempty"`
	// strategyReason is the sentence that says why.
	StrategyReason string `json:"strategyReason,omitempty"`
	// addresses are the old addresses of the members.
	Addresses []string `json:"addresses,omitempty"`
	// newAddresses are where the entry point is, or will be, served.
	NewAddresses []string `json:"newAddresses,omitempty"`
	// ports in the form TCP/80.
	Ports []string `json:"ports,omitempty"`
	// names that point at the old addresses and may move.
	Names []string `json:"names,omitempty"`
	// planHash is the SHA-256 of the plan: of the recorded one, or, before that, of the one made now.
	PlanHash string `json:"planHash,omitempty"`
	// record is the name of the MigrationRecord of this walk.
	Record string `json:"record,omitempty"`
	// attempt that is being walked.
	Attempt int64 `json:"attempt,omitempty"`
	// findings of the inventory about the members.
	Findings []Finding `json:"findings,omitempty"`
	// share of the new path in percent that DNS asks for now.
	SharePercent int32 `json:"sharePercent"`
	// drain is the measured use of the old path.
	Drain *DrainStatus `json:"drain,omitempty"`
	// next says what the walk waits for, or does next.
	Next *NextStep `json:"next,omitempty"`
	// notes list what the conversion loses.
	Notes []string `json:"notes,omitempty"`
}

// Severity of a finding.
// +kubebuilder:validation:Enum=Block;Ask;Inform;CleanUp
type Severity string

// The severities.
const (
	SeverityBlock   Severity = "Block"
	SeverityAsk     Severity = "Ask"
	SeverityInform  Severity = "Inform"
	SeverityCleanUp Severity = "CleanUp"
)

// Finding is one thing an admin should know, with the way out.
type Finding struct {
	// reason is a stable code, listed in docs/reasons.md.
	Reason string `json:"reason"`
	// severity tells whether it blocks.
	Severity Severity `json:"severity"`
	// object is "Kind namespace/name" and, where it helps, the field.
	Object string `json:"object"`
	// message is one sentence a human can act on.
	Message string `json:"message"`
	// fix is the command or the change.
	Fix string `json:"fix,omitempty"`
}

// DrainStatus sums up who still uses the old path.
type DrainStatus struct {
	// established connections, summed over the nodes that report.
	Established int64 `json:"established"`
	// quietSince is when the last new connection was seen, if all nodes report.
	QuietSince *metav1.Time `json:"quietSince,omitempty"`
	// unknown says why the sum is not the whole, if it is not.
	Unknown string `json:"unknown,omitempty"`
}

// NextStep says what comes next and when to look again.
type NextStep struct {
	// gate that is not met yet.
	Gate string `json:"gate"`
	// reason is the gate's reason code.
	Reason string `json:"reason"`
	// message for a human.
	Message string `json:"message"`
	// at is when the walk looks again, if it waits for time to pass.
	At *metav1.Time `json:"at,omitempty"`
}

// EntryPoint is the unit that moves.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=ep
type EntryPoint struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   EntryPointSpec   `json:"spec"`
	Status EntryPointStatus `json:"status,omitempty"`
}

// EntryPointList is a list of EntryPoints.
// +kubebuilder:object:root=true
type EntryPointList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EntryPoint `json:"items"`
}
