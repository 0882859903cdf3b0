package cli

import (
	"io"

	"k8s.io/apimachinery/pkg/runtime"
)

// RehearseOptions say what to walk.
type RehearseOptions struct {
	// Objects of the manifests; none and Demo: the bundled cluster.
	Objects []runtime.Object
	Demo    bool
	// RollbackAt is the gate at which the walk turns back, Fault what is injected; "" for neither.
	RollbackAt, Fault string
	Seed              int64
	// Progress gets one line for each change of a gate, if set.
	Progress io.Writer
}

// Fault is one that can be injected into a rehearsal.
type Fault struct{ Name, Meaning string }

// Rehearsal is the answer of the embedded world.
type Rehearsal struct {
	// Report is what -o json and -o yaml print, exactly as it marshals.
	Report any
	// Assumed says what the manifests lacked and the world made up.
	Assumed []string
	Walks   []Walk
	// Sent and Lost count the requests of all clients, also of those that no single walk was charged with.
	Sent, Lost int64
}

// Walk is one entry point in a rehearsal.
type Walk struct {
	Name, Strategy string
	// Outcome is Released, Undone, Held, Blocked or CleanUp; Why says what it stands at.
	Outcome, Why string
	Gates        []WalkedGate
	Sent, Lost   int64
	API, DNS     int64
}

// WalkedGate is the last word of one gate, and when it was first met.
type WalkedGate struct{ Name, Verdict, Reason, At string }
