package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// StampKind is the kind of a journal line.
// +kubebuilder:validation:Enum=Recorded;Intent;Seen;Abort;Diverged;Released;Restored;Returned;Undone;Forgotten
type StampKind string

// The stamps.
const (
	StampRecorded  StampKind = "Recorded"
	StampIntent    StampKind = "Intent"
	StampSeen      StampKind = "Seen"
	StampAbort     StampKind = "Abort"
	StampDiverged  StampKind = "Diverged"
	StampReleased  StampKind = "Released"
	StampRestored  StampKind = "Restored"
	StampReturned  StampKind = "Returned"
	StampUndone    StampKind = "Undone"
	StampForgotten StampKind = "Forgotten"
)

// Stamp is one line of the journal; its place in the list is its sequence.
type Stamp struct {
	// kind of the line.
	// +required
	Kind StampKind `json:"kind"`
	// step it speaks of: -1 the snapshot, 0 old at low TTL, 1..n shares, n+1 new at the original TTL.
	// +required
	// +kubebuilder:validation:Minimum=-1
	// +kubebuilder:validation:Maximum=100
	Step int32 `json:"step"`
	// attempt it belongs to.
	// +required
	// +kubebuilder:validation:Minimum=1
	Attempt int64 `json:"attempt"`
	// at is when it was written.
	// +required
	At metav1.MicroTime `json:"at"`
	// note for a human.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=1024
	Note string `json:"note,omitempty"`
}

// Document is JSON with its SHA-256, so that what is restored is what was stored.
type Document struct {
	// json is the text, kept as a string so that no schema prunes fields it does not know.
	// +required
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=524288
	JSON string `json:"json"`
	// sha256 of the text, hex.
	// +required
	// +kubebuilder:validation:MinLength=64
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	SHA256 string `json:"sha256"`
}

// AttemptPlan is the frozen plan of one attempt.
type AttemptPlan struct {
	// attempt the plan belongs to.
	// +required
	// +kubebuilder:validation:Minimum=1
	Attempt int64 `json:"attempt"`
	// plan is the frozen plan.
	// +required
	Plan Document `json:"plan"`
}

// MigrationRecordSpec is the only memory of a walk.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.snapshot) || has(self.snapshot) || self.journal.exists(s, s.kind == 'Forgotten')",message="snapshot may only be removed beside a Forgotten stamp in the journal: until then it is the way back"
// +kubebuilder:validation:XValidation:rule="has(oldSelf.snapshot) || !has(self.snapshot) || !oldSelf.journal.exists(s, s.kind == 'Forgotten')",message="snapshot cannot come back after the Forgotten stamp"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.plans) || (has(self.plans) && self.plans.size() >= oldSelf.plans.size() && self.plans.slice(0, oldSelf.plans.size()) == oldSelf.plans)",message="plans is append-only: existing plans may not be changed, reordered or removed"
// +kubebuilder:validation:XValidation:rule="(has(self.snapshot) ? self.snapshot.json.size() : 0) + (has(self.plans) ? self.plans.map(p, p.plan.json.size()).sum() : 0) <= 900000",message="snapshot and plans together are larger than 900000 characters: split the entry point into smaller ones"
type MigrationRecordSpec struct {
	// entryPoint whose walk this is. It never changes.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="entryPoint is immutable: every walk has a record of its own"
	EntryPoint string `json:"entryPoint"`
	// snapshot is what Back restores. Set once; it may only go away beside a Forgotten stamp.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="snapshot is immutable: it is what the way back restores"
	Snapshot *Document `json:"snapshot,omitempty"`
	// plans, one per attempt, append-only.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	Plans []AttemptPlan `json:"plans,omitempty"`
	// journal, append-only. A line is added by JSON Patch "add /spec/journal/-".
	// +required
	// +kubebuilder:validation:MinItems=0
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +kubebuilder:validation:XValidation:rule="self.size() >= oldSelf.size() && self.slice(0, oldSelf.size()) == oldSelf",message="journal is append-only: existing stamps may not be changed, reordered or removed"
	Journal []Stamp `json:"journal"`
}

// MigrationRecord is the memory of one migration: snapshot, plans and journal. It has no status, for nothing in it can
// be made again by looking.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=migrec,categories=offramp
// +kubebuilder:printcolumn:name="EntryPoint",type=string,JSONPath=`.spec.entryPoint`
// +kubebuilder:printcolumn:name="Last",type=string,JSONPath=`.spec.journal[-1:].kind`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type MigrationRecord struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the memory.
	// +required
	Spec MigrationRecordSpec `json:"spec"`
}

// MigrationRecordList is a list of MigrationRecords.
// +kubebuilder:object:root=true
type MigrationRecordList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MigrationRecord `json:"items"`
}
