package migration

import (
	"testing"

	"offramp.dev/dnsctl"
)

func TestNamesOfOthersAreLeftAlone(t *testing.T) {
	t.Parallel()
	every := func(edit func(*dnsctl.Answer)) func(*Facts) {
		return func(f *Facts) { server(0, edit)(f); server(1, edit)(f) }
	}
	changedBack := every(func(a *dnsctl.Answer) { a.Records.A.TTL = 3600 })
	checkStands(t, map[string]stand{
		"a mark that cannot be read holds": {
			scene("R", -1, server(0, func(a *dnsctl.Answer) { a.Foreign = "heritage=x" })),
			GateTTLLowered, Held, ReasonNameOwned, "",
		},
		"another record's mark holds": {
			scene("R", -1, server(0, func(a *dnsctl.Answer) { a.Mark.Owner = "other-1" })),
			GateTTLLowered, Held, ReasonNameOwned, "",
		},
		"external-dns holds": {
			scene("R", -1, server(0, func(a *dnsctl.Answer) { a.External = "heritage=external-dns" })),
			GateTTLLowered, Held, ReasonNameExternal, "",
		},
		"a CNAME holds": {
			scene("R I0", -1, server(0, func(a *dnsctl.Answer) { a.Records = dnsctl.RecordSet{Alias: "cdn.example.net"} })),
			GateTTLLowered, Held, ReasonNameAlias, "",
		},
		"a name that no longer answers the snapshot holds": {
			scene("R", -1, server(0, func(a *dnsctl.Answer) { a.Records.A.TTL = 77 })),
			GateTTLLowered, Held, ReasonNameChanged, "",
		},
		"our mark beside another answer is stamped": {
			scene("R I0", 0, server(0, func(a *dnsctl.Answer) { a.Records.A.TTL = 3600 })),
			GateTTLLowered, Unmet, ReasonDiverged, "stamp Diverged(0)",
		},
		"an edit beside the mark of an older intent of ours is stamped, not overwritten": {
			scene("R I0 S0 I3", 0, changedBack),
			GateShifted, Unmet, ReasonDiverged, "stamp Diverged(3)",
		},
		"records that the older intent asked for are changed": {
			scene("R I0 S0 I3", 0),
			GateShifted, Unmet, "Step3Of3", "change names to step 3",
		},
		"an edit that a human knows of is overwritten by the next attempt": {
			scene("R I0 S0 I3 D3 R/2 I3/2", 0, changedBack, nextAttempt),
			GateShifted, Unmet, "Step3Of3", "change names to step 3",
		},
		"a seen step that is no longer so is stamped": {
			scene("R I0 S0 I3 S3", 3, server(1, func(a *dnsctl.Answer) { a.Mark.Sequence = 0 })),
			GateShifted, Unmet, ReasonDiverged, "stamp Diverged(3)",
		},
		"a reverted edit holds": {scene("R I0 S0 D0", 0, changedBack), GateTTLLowered, Held, ReasonReverted, ""},
		"a newer attempt may overwrite it": {
			scene("R I0 S0 D0 R/2", 0, changedBack, nextAttempt),
			GateTTLLowered, Unmet, ReasonStamping, "stamp Intent(0)",
		},
		"a repaired edit is seen once more": {
			scene("R I0 S0 D0", 0),
			GateTTLLowered, Unmet, ReasonStamping, "stamp Seen(0)",
		},
		"both put back after the last step: the last share is due again": {
			scene("R I0 S0 I3 S3 L I4 D4 G R/2", 0, changedBack, nextAttempt, func(f *Facts) { f.Fields[0].Mark = 1 }),
			GateShifted, Unmet, "Step3Of3", "stamp Intent(3)",
		},
	})
}

func TestWhatAHumanChangesIsSaidAsInputForNsupdate(t *testing.T) {
	t.Parallel()
	d := Decide(scene("R I0", -1, func(f *Facts) {
		f.Names[0].Manual = true
		f.Names[0].At = dnsctl.Zone{Object: "example", Apex: "example.org", Primary: "192.0.2.53:53", Manual: true}
	}))
	want := `change www.example.org from A 192.0.2.1 (TTL 3600) to A 192.0.2.1 (TTL 30); for nsupdate:
; www.example.org: A 192.0.2.1 (TTL 3600) -> A 192.0.2.1 (TTL 30)
server 192.0.2.53 53
zone example.org.
prereq yxrrset www.example.org. IN A 192.0.2.1
prereq nxrrset www.example.org. IN AAAA
prereq nxrrset www.example.org. IN CNAME
prereq nxrrset _offramp.www.example.org. IN TXT
update delete www.example.org. IN A
update add www.example.org. 30 IN A 192.0.2.1
send
`
	if d.At.Reason != ReasonManualChange || d.At.Message != want {
		t.Errorf("got %s\n%s\nwant %s\n%s", d.At.Reason, d.At.Message, ReasonManualChange, want)
	}
}

func TestManualZonesAreNeverWritten(t *testing.T) {
	t.Parallel()
	manual := func(f *Facts) { f.Names[0].Manual = true }
	unmarked := func(f *Facts) {
		for i := range f.Names[0].Servers {
			f.Names[0].Servers[i].Value.Mark = dnsctl.Mark{}
		}
	}
	checkStands(t, map[string]stand{
		"the human is told what to change": {scene("R I0", -1, manual), GateTTLLowered, Waiting, ReasonManualChange, ""},
		"right records need no mark": {
			scene("R I0", 0, manual, unmarked),
			GateTTLLowered, Unmet, ReasonStamping, "stamp Seen(0)",
		},
		"a share waits for the human": {
			scene("R I0 S0 I2", 0, manual, unmarked),
			GateShifted, Waiting, ReasonManualChange, "",
		},
		"any set of a slot step will do": {
			scene("R I0 S0 I1", 1, manual, unmarked, highSlot),
			GateShifted, Unmet, "Step1Of3", "stamp Seen(1)",
		},
		"on the way back the human goes back": {
			scene("R I0 S0 I3 S3 I0", 3, manual, unmarked, goBack),
			GateShifted, Waiting, ReasonManualChange, "",
		},
	})
}
