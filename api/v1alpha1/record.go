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
	Kind StampKind `json:"kind"`
	// step it speaks of: -1 the snapshot, 0 old at low TTL, 1..n shares, n+1 new at the original TTL.
	Step int32 `json:"step"`
	// attempt it belongs to.
	Attempt int64 `json:"attempt"`
	// at is when it was written.
	At metav1.MicroTime `json:"at"`
	// note for a human.
	Note string `json:"note,omitempty"`
}

// Document is JSON with its SHA-256, so that what is restored is what was stored.
type Document struct {
	// json is the text.
	JSON string `json:"json"`
	// sha256 of the text, hex.
	SHA256 string `json:"sha256"`
}

// AttemptPlan is the frozen plan of one attempt.
type AttemptPlan struct {
	// attempt the plan belongs to.
	Attempt int64 `json:"attempt"`
	// plan is the frozen plan.
	Plan Document `json:"plan"`
}

// MigrationRecordSpec is the only memory of a walk.
type MigrationRecordSpec struct {
	// entryPoint whose walk this is.
	EntryPoint string `json:"entryPoint"`
	// snapshot is what Back restores. Set once; it may only go away beside a Forgotten stamp.
	Snapshot *Document `json:"snapshot,omitempty"`
	// plans, one per attempt, append-only.
	Plans []AttemptPlan `json:"plans,omitempty"`
	// journal, append-only.
	Journal []Stamp `json:"journal"`
}

// MigrationRecord is the memory of one migration.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=migrec
type MigrationRecord struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec MigrationRecordSpec `json:"spec"`
}

// MigrationRecordList is a list of MigrationRecords.
// +kubebuilder:object:root=true
type MigrationRecordList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MigrationRecord `json:"items"`
}
