package dnsctl

import "time"

// To be written by the owner of this package (signatures are the contract):

// MarkName is where our mark of name lies: _offramp.<name>.
func MarkName(name string) string { panic("contract") }

// Allowed lists the record sets that a server may answer in step s of a shift with the given share percents (the
// last one is 100). Static steps allow one; a share below 50 allows two (slots). The first is the safe one.
func (n Name) Allowed(s Step, percents []int32) []RecordSet { panic("contract") }

// Wanted is the set that the schedule of step s asks for at now. anchor is when the step was intended; slots false
// means that only the safe set may stand.
func (n Name) Wanted(s Step, percents []int32, anchor, now time.Time, slots bool) RecordSet { panic("contract") }

// LargestTTL is the largest TTL in seconds that any cache may still hold of the snapshot and of the sets of the walk.
func (n Name) LargestTTL() uint32 { panic("contract") }

// HasNew tells whether r holds a member of n.New; HasOld whether it holds one of n.Old.
func (n Name) HasNew(r RecordSet) bool { panic("contract") }

// HasOld tells whether r holds a member of n.Old.
func (n Name) HasOld(r RecordSet) bool { panic("contract") }

// Equal compares addresses as sets and TTLs exactly.
func (r RecordSet) Equal(o RecordSet) bool { panic("contract") }

// NominalShare is the share of new that r asks for, in percent of evenly picking clients.
func (n Name) NominalShare(r RecordSet) int32 { panic("contract") }
