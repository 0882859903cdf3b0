package dnsctl

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// maxMarkTTL in seconds: nobody but us reads the mark, and we ask the servers themselves.
const maxMarkTTL = 60

// MarkTTL is the TTL in seconds of a mark written beside r: that of the records, at most a minute.
func MarkTTL(r RecordSet) uint32 { return min(r.largestTTL(), maxMarkTTL) }

// Target is what one name should answer.
type Target struct {
	// Zone is the name of the DNSZone object.
	Zone, Name string
	// Current is what the primary answers now.
	Current Answer
	// Wanted replaces the records.
	Wanted RecordSet
	// Owner is the MigrationRecord that asks.
	Owner string
	// Mark to leave beside the records; zero: our mark goes.
	Mark Mark
}

// ConflictError says that the name is held by somebody else. Nothing may be written until a human has decided.
type ConflictError struct {
	Name, Holder string
}

// Error names the name, the holder and the way out.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("name %s is held by %s: finish that migration, or remove the TXT record %s once nobody needs it",
		e.Name, e.Holder, MarkName(e.Name))
}

// Changes is the difference between what the names answer and what they should, sorted by zone and name. A name that is
// as wanted is left out, whatever its lease: the lease is renewed with the next change. It refuses to touch a name that
// another holder marks (ConflictError), an alias, and a change that would leave no address.
func Changes(targets []Target) ([]Change, error) {
	var out []Change
	var faults []error
	for _, t := range targets {
		switch err := t.refuse(); {
		case err != nil:
			faults = append(faults, err)
		case !t.met():
			out = append(out, t.change())
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	slices.SortStableFunc(out, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

// ByZone groups changes: one group is one update. The groups are sorted by zone, each by name.
func ByZone(changes []Change) [][]Change {
	all := slices.Clone(changes)
	slices.SortStableFunc(all, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.Name, b.Name))
	})
	var out [][]Change
	for i, c := range all {
		if i == 0 || all[i-1].Zone != c.Zone {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], c)
	}
	return out
}

// HeldBy names who else holds the name: the text of a foreign mark, or another record. Empty: nobody. A lease that is
// over frees nothing by itself; it tells a human that the holder may be dead.
func (a Answer) HeldBy(owner string) string {
	switch {
	case a.Foreign != "":
		return fmt.Sprintf("a mark that is not ours (%q)", a.Foreign)
	case !a.Mark.IsZero() && a.Mark.Owner != owner:
		return "migration " + a.Mark.Owner + " with a lease until " + a.Mark.Until.UTC().Format(time.RFC3339)
	}
	return ""
}

func (t Target) refuse() error {
	if holder := t.Current.HeldBy(t.Owner); holder != "" {
		return &ConflictError{Name: t.Name, Holder: holder}
	}
	switch {
	case t.Current.Records.Alias != "":
		return fmt.Errorf("name %s is an alias of %s: move the target, in its own zone", t.Name, t.Current.Records.Alias)
	case t.Wanted.Alias != "":
		return fmt.Errorf("name %s: an alias is never written", t.Name)
	case t.Wanted.Empty() && !t.Current.Records.Empty():
		return fmt.Errorf("name %s answers %s: a change that leaves no address is refused", t.Name, t.Current.Records)
	}
	if t.Mark.IsZero() {
		return nil
	}
	_, err := EncodeMark(t.Mark)
	return err
}

func (t Target) met() bool {
	return t.Current.Records.Equal(t.Wanted) && t.Current.Mark.Same(t.Mark)
}

func (t Target) change() Change {
	return Change{
		Zone: t.Zone, Name: t.Name,
		Before: Answer{Records: t.Current.Records.canonical(), Mark: t.Current.Mark},
		After:  Answer{Records: t.Wanted.canonical(), Mark: t.Mark},
	}
}
