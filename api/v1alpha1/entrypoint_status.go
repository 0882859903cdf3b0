package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// What fits into the status of an EntryPoint. A writer cuts its lists and sentences to these sizes and says so: a status
// that the API server refuses would be seen by nobody.
const (
	// MaxStatusItems is the number of addresses, ports, names and notes.
	MaxStatusItems = 1000
	// MaxFindings is the number of findings.
	MaxFindings = 250
	// MaxMessage is the number of characters in a message, a note or a fix.
	MaxMessage = 4096
)

// EntryPointStatus is what the controller saw, decided and did. It is output, never memory.
type EntryPointStatus struct {
	// conditions: Ready, Reconciling, Stalled, RollbackAvailable, SnapshotExpired where a retention is set, and one per gate.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// strategy that the plan uses.
	// +optional
	Strategy Strategy `json:"strategy,omitempty"`
	// strategyReason is the sentence that says why.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=4096
	StrategyReason string `json:"strategyReason,omitempty"`
	// addresses are the old addresses of the members.
	// +optional
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=atomic
	Addresses []string `json:"addresses,omitempty"`
	// newAddresses are where the entry point is, or will be, served.
	// +optional
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=atomic
	NewAddresses []string `json:"newAddresses,omitempty"`
	// ports in the form TCP/80.
	// +optional
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=32
	// +listType=atomic
	Ports []string `json:"ports,omitempty"`
	// names that point at the old addresses and may move.
	// +optional
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=255
	// +listType=atomic
	Names []string `json:"names,omitempty"`
	// planHash is the SHA-256 of the plan: of the recorded one, or, before that, of the one made now.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=64
	PlanHash string `json:"planHash,omitempty"`
	// record is the name of the MigrationRecord of this walk.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=253
	Record string `json:"record,omitempty"`
	// attempt that is being walked.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Attempt int64 `json:"attempt,omitempty"`
	// findings of the inventory about the members.
	// +optional
	// +kubebuilder:validation:MaxItems=250
	// +listType=atomic
	Findings []Finding `json:"findings,omitempty"`
	// share of the new path in percent that DNS asks for now.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	SharePercent int32 `json:"sharePercent"`
	// share compares what the shift asks for with what is seen of it; absent before the record, and where no name moves.
	// +optional
	Share *ShareStatus `json:"share,omitempty"`
	// snapshot is what the way back restores; absent before it is taken, and once it is forgotten.
	// +optional
	Snapshot *SnapshotStatus `json:"snapshot,omitempty"`
	// drain is the measured use of the old path.
	// +optional
	Drain *DrainStatus `json:"drain,omitempty"`
	// next says what the walk waits for, or does next.
	// +optional
	Next *NextStep `json:"next,omitempty"`
	// notes list what the conversion loses.
	// +optional
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=4096
	// +listType=atomic
	Notes []string `json:"notes,omitempty"`
}

// Severity of a finding.
// +kubebuilder:validation:Enum=Block;Ask;Inform;CleanUp
type Severity string

// The severities.
const (
	// SeverityBlock stops the walk until somebody acts.
	SeverityBlock Severity = "Block"
	// SeverityAsk needs a human's answer.
	SeverityAsk Severity = "Ask"
	// SeverityInform is good to know.
	SeverityInform Severity = "Inform"
	// SeverityCleanUp marks what can simply be removed.
	SeverityCleanUp Severity = "CleanUp"
)

// Finding is one thing an admin should know, with the way out.
type Finding struct {
	// reason is a stable code, listed in docs/reasons.md.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Reason string `json:"reason"`
	// severity tells whether it blocks.
	// +required
	Severity Severity `json:"severity"`
	// object is "Kind namespace/name" and, where it helps, the field.
	// +required
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=1024
	Object string `json:"object"`
	// message is one sentence a human can act on.
	// +required
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=4096
	Message string `json:"message"`
	// fix is the command or the change.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=4096
	Fix string `json:"fix,omitempty"`
}

// SnapshotStatus says what the way back restores, and for how long it is kept.
type SnapshotStatus struct {
	// sha256 of the snapshot, hex: what kubectl offramp snapshot verify computes again.
	// +required
	// +kubebuilder:validation:MinLength=64
	// +kubebuilder:validation:MaxLength=64
	SHA256 string `json:"sha256"`
	// takenAt is when the snapshot was taken.
	// +required
	TakenAt metav1.Time `json:"takenAt"`
	// retainUntil is until when it is kept at least; absent: as long as the evidence asks for. Its end deletes nothing.
	// +optional
	RetainUntil *metav1.Time `json:"retainUntil,omitempty"`
	// limited says that the wish in spec.retention goes past what the policy allows, and until when it would.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=1024
	Limited string `json:"limited,omitempty"`
}

// ShareStatus is the part of the traffic that the new path takes: what is asked for, how exact that can be, what is seen.
type ShareStatus struct {
	// nominalPercent is what the last step that was begun asks for in the long run, the smallest over the names. Unlike
	// sharePercent it does not change with every slot of a share below 50.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	NominalPercent int32 `json:"nominalPercent"`
	// expectedErrorPoints is the standard deviation to expect of it in percentage points, rounded up, through ten resolvers
	// of equal weight over the soak of the step. 0 where one set of records is the share.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	ExpectedErrorPoints int32 `json:"expectedErrorPoints"`
	// measuredPercent is the new path's part of the connections that were open at measuredAt; absent where that is unknown.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MeasuredPercent *int32 `json:"measuredPercent,omitempty"`
	// unknown says why nothing could be measured, if so.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=4096
	Unknown string `json:"unknown,omitempty"`
	// measuredAt is when that was so. Where nothing else changes it is written again after a minute at the earliest, and only
	// if the share has moved by five points or more, or what is unknown has changed.
	// +required
	MeasuredAt metav1.Time `json:"measuredAt"`
}

// DrainStatus sums up who still uses the old path.
type DrainStatus struct {
	// established connections, summed over the nodes that report.
	// +required
	// +kubebuilder:validation:Minimum=0
	Established int64 `json:"established"`
	// quietSince is when the last new connection was seen, if all nodes report.
	// +optional
	QuietSince *metav1.Time `json:"quietSince,omitempty"`
	// unknown says why the sum is not the whole, if it is not.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=4096
	Unknown string `json:"unknown,omitempty"`
}

// NextStep says what comes next and when to look again.
type NextStep struct {
	// gate that is not met yet.
	// +required
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=63
	Gate string `json:"gate"`
	// reason is the gate's reason code.
	// +required
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason"`
	// message for a human.
	// +required
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=4096
	Message string `json:"message"`
	// at is when the walk looks again, if it waits for time to pass.
	// +optional
	At *metav1.Time `json:"at,omitempty"`
}

// EntryPoint is the unit that moves: Services joined by a name, or by an address that stays. Humans write its spec, the
// controller its status.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=ept,categories=offramp
// +kubebuilder:printcolumn:name="Strategy",type=string,JSONPath=`.status.strategy`
// +kubebuilder:printcolumn:name="Goal",type=string,JSONPath=`.spec.goal`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Share",type=integer,JSONPath=`.status.sharePercent`
// +kubebuilder:printcolumn:name="Next",type=string,JSONPath=`.status.next.gate`
// +kubebuilder:printcolumn:name="Why",type=string,JSONPath=`.status.next.reason`
// +kubebuilder:printcolumn:name="Direction",type=string,JSONPath=`.spec.direction`,priority=1
// +kubebuilder:printcolumn:name="Attempt",type=integer,JSONPath=`.spec.attempt`,priority=1
// +kubebuilder:printcolumn:name="Old",type=string,JSONPath=`.status.addresses`,priority=1
// +kubebuilder:printcolumn:name="New",type=string,JSONPath=`.status.newAddresses`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type EntryPoint struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what a human wants.
	// +required
	Spec EntryPointSpec `json:"spec"`
	// status is what the controller saw and did.
	// +optional
	Status EntryPointStatus `json:"status,omitempty"`
}

// EntryPointList is a list of EntryPoints.
// +kubebuilder:object:root=true
type EntryPointList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EntryPoint `json:"items"`
}
