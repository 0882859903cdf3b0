package migration

import "offramp.dev/gateway"

// Reason codes of rows. They are a contract (docs/conditions.md): a code keeps its meaning, new ones may come. Findings
// of the inventory that block appear with their own code.
const (
	ReasonMet           = "Met"
	ReasonWaived        = "Waived"
	ReasonOvertaken     = "Overtaken"
	ReasonFrozenPlan    = "FrozenPlan"
	ReasonNoNames       = "NoNames"
	ReasonAddressKept   = "AddressKept"
	ReasonNotOnThisWay  = "NotOnThisWay"
	ReasonNeverIntended = "NeverIntended"
	ReasonNotReached    = "NotReached"
	ReasonUndone        = "Undone"
	ReasonForgotten     = "Forgotten"
	ReasonNothingToUndo = "NothingToUndo"
	ReasonRecording     = "Recording"
	ReasonClaiming      = "Claiming"
	ReasonUnclaiming    = "Unclaiming"
	ReasonApplying      = "Applying"
	ReasonRepairing     = "Repairing"
	ReasonRemoving      = "Removing"
	ReasonStamping      = "Stamping"
	ReasonChangingNames = "ChangingNames"
	ReasonSafeSet       = "WritingSafeSet"
	ReasonReleasing     = "Releasing"
	ReasonRestoring     = "Restoring"
	ReasonForgetting    = "Forgetting"
	ReasonPathFailed    = "PathFailed"
	ReasonDiverged      = "Diverged"
	ReasonReturned      = "Returned"
	ReasonRestored      = "Restored"
	ReasonNotDenied     = "NotDenied"
	ReasonNotProven     = "NotProven"
	ReasonPathDiffers   = "PathDiffers"
	ReasonTTLRunning    = "TTLRunning"
	ReasonServersLag    = "ServersLag"
	ReasonSoaking       = "Soaking"
	ReasonNoSample      = "NoSample"
	ReasonErrorBudget   = "ErrorBudget"
	ReasonManualChange  = "ManualChange"
	ReasonInUse         = "InUse"
	ReasonNamesServeNew = "NamesServeNew"
	ReasonGuardUnknown  = "GuardUnknown"
	ReasonNamesUnknown  = "NamesUnknown"
	ReasonPathUnknown   = "PathUnknown"
	ReasonUseUnknown    = "UseUnknown"
	ReasonUseShared     = "UseShared"
	ReasonRetained      = "Retained"
	ReasonReportOnly    = "ReportOnly"
	ReasonGoalReached   = "GoalReached"
	ReasonPaused        = "Paused"
	ReasonFreezeWindow  = "FreezeWindow"
	ReasonNoPlan        = "NoPlan"
	ReasonPlanUnknown   = "PlanUnknown"
	ReasonPlanDrifted   = "PlanDrifted"
	ReasonNotApproved   = "NotApproved"
	ReasonJournalFull   = "JournalFull"
	ReasonNewPathInUse  = "NewPathInUse"
	ReasonAddressTaken  = "AddressTaken"
	ReasonAborted       = "Aborted"
	ReasonReverted      = "Reverted"
	ReasonNameOwned     = "NameOwnedByOther"
	ReasonNameExternal  = "NameOwnedByExternalDNS"
	ReasonNameAlias     = "NameIsAlias"
	ReasonNameChanged   = "NameChanged"
	ReasonStepRefused   = "StepRefused"
	ReasonOrderUnknown  = "OrderUnknown"
	ReasonOrderFixed    = "OrderFixed"
	ReasonOldPathFailed = "OldPathFailed"
	ReasonConflict      = "Conflict"
	ReasonDenyEnabled   = "BuiltInDenyEnabled"
	ReasonServiceGone   = "ServiceGone"
	ReasonFieldReturned = "FieldReturned"
	ReasonGroupChanged  = "GroupChanged"
	// What serves the new path is wrong, as package gateway reads it.
	ReasonAddressMismatch   = gateway.HealthAddressMismatch
	ReasonNotAccepted       = gateway.HealthNotAccepted
	ReasonForeignClass      = gateway.HealthForeignClass
	ReasonWritesExternalIPs = gateway.HealthWritesExternalIPs
)

// ReasonDoc explains one reason code.
type ReasonDoc struct {
	Reason  string
	Verdict Verdict
	// Meaning is one sentence; where somebody must act it says who and how.
	Meaning string
}

// ReasonDocs lists every reason code of a row, by verdict. Shifted shows StepKOfN while it works or waits.
func ReasonDocs() []ReasonDoc {
	var docs []ReasonDoc
	for _, part := range [][]ReasonDoc{passingReasons(), actingReasons(), waitingReasons(), unknownReasons(), holdReasons()} {
		docs = append(docs, part...)
	}
	return docs
}

func passingReasons() []ReasonDoc {
	return []ReasonDoc{
		{ReasonMet, Met, "The gate's condition holds now."},
		{ReasonWaived, Met, "A signed, unexpired waiver stands in for the evidence; its text is in the message."},
		{ReasonNeverIntended, Met, "Names were never told to change, so there is nothing to take back here."},
		{ReasonUndone, Met, "Everything is as in the snapshot; the walk has ended. A new attempt starts over."},
		{ReasonForgotten, Met, "The snapshot is gone and the walk has ended; nothing will be done any more."},
		{ReasonNothingToUndo, Met, "Back was asked, but nothing was ever done."},
		{ReasonOvertaken, Moot, "A later stamp made the condition pointless."},
		{ReasonFrozenPlan, Moot, "The plan is recorded; the frozen plan counts, not today's inventory."},
		{ReasonNoNames, NotApplicable, "The plan moves no name."},
		{ReasonAddressKept, NotApplicable, "The address stays and so do its connections (strategy Adopt)."},
		{ReasonNotOnThisWay, NotApplicable, "The gate asks nothing in this direction."},
		{ReasonNotReached, Later, "An earlier gate is not met yet."},
	}
}

func actingReasons() []ReasonDoc {
	return []ReasonDoc{
		{ReasonRecording, Unmet, "The plan, and with the first one the snapshot, is being stored."},
		{ReasonClaiming, Unmet, "The plan's addresses are being claimed."},
		{ReasonUnclaiming, Unmet, "Our claims are being given back."},
		{ReasonApplying, Unmet, "The target objects are being made as in the plan."},
		{ReasonRepairing, Unmet, "The target objects are being repaired: after release nothing else can serve."},
		{ReasonRemoving, Unmet, "The target objects are being removed."},
		{ReasonStamping, Unmet, "A line is being appended to the journal."},
		{ReasonChangingNames, Unmet, "Record sets are being changed."},
		{ReasonSafeSet, Unmet, "The walk stops in a slot, so the step's safe set is being written."},
		{ReasonReleasing, Unmet, "The field is being removed from a Service."},
		{ReasonRestoring, Unmet, "The field is being put back."},
		{ReasonForgetting, Unmet, "The snapshot is being dropped."},
		{ReasonPathFailed, Unmet, "The new path failed while names serve it: the attempt is being aborted."},
		{ReasonDiverged, Unmet, "Somebody else changed a name that we had changed: that is being stamped."},
		{ReasonReturned, Unmet, "Somebody else put the field back: that is being stamped."},
		{ReasonRestored, Unmet, "The field is back by our own hand: that is being stamped."},
		{"StepKOfN", Unmet, "Share step K of N is worked on or waited for; the message says which. The verdict may be Waiting too."},
	}
}

func waitingReasons() []ReasonDoc {
	return []ReasonDoc{
		{ReasonNotDenied, Waiting, "The API server still lets others use a claimed address: install or enforce the guard."},
		{ReasonNotProven, Waiting, "The new path is not good yet: see the probes in the message."},
		{ReasonPathDiffers, Waiting, "The new path answers, but otherwise than the old one, in what `probes.mustMatch` of the policy does not bear."},
		{ReasonAddressMismatch, Waiting, "What serves the new path is not on the pinned address: see the object in the message."},
		{ReasonNotAccepted, Waiting, "The implementation refused a target object: its own words are in the message."},
		{ReasonForeignClass, Waiting, "The generated Service has a loadBalancerClass that MetalLB ignores: configure the implementation."},
		{ReasonWritesExternalIPs, Waiting, "The implementation wrote externalIPs itself: take spec.addresses off the Gateway, or choose another class."},
		{ReasonTTLRunning, Waiting, "Caches may still hold the previous answer."},
		{ReasonServersLag, Waiting, "Not every name server answers the change yet."},
		{ReasonSoaking, Waiting, "The soak time runs."},
		{ReasonNoSample, Waiting, "Nothing was measured since the step; no measurement is no success."},
		{ReasonErrorBudget, Waiting, "More than one sample in a hundred failed since the step."},
		{ReasonManualChange, Waiting, "The zone is manual: make the change that the message shows."},
		{ReasonInUse, Waiting, "The path is still used, or was within the window."},
		{ReasonRetained, Waiting, "The snapshot is kept for the policy's retention, or a human extended it; the message says until when."},
		{ReasonNamesServeNew, Waiting, "Names may still serve the new address, or did since they were last seen without it."},
	}
}

func unknownReasons() []ReasonDoc {
	return []ReasonDoc{
		{ReasonGuardUnknown, Unknown, "It could not be seen whether others are denied the claimed addresses."},
		{ReasonNamesUnknown, Unknown, "A name server could not be asked."},
		{ReasonOrderUnknown, Unknown, "Nobody knows whether the name servers rotate the addresses of a set: give the zone two name servers, or leave shares below 50 out."},
		{ReasonPathUnknown, Unknown, "Probes are missing or inconclusive."},
		{ReasonUseUnknown, Unknown, "A node that could receive the address does not report, or with a gap."},
		{ReasonUseShared, Unknown, "Other entry points are served on the same address and port, so nobody can tell whose connections are left: waive Drained."},
	}
}

func holdReasons() []ReasonDoc {
	return []ReasonDoc{
		{ReasonReportOnly, Held, "The goal is Report: raise it to go on."},
		{ReasonGoalReached, Held, "The goal is reached: raise it to go on."},
		{ReasonPaused, Held, "The entry point is paused: resume it."},
		{ReasonFreezeWindow, Held, "A freeze window of the policy holds; it ends by itself."},
		{ReasonNoPlan, Held, "No plan can be made: the message says what is missing."},
		{ReasonPlanUnknown, Held, "No plan can be made now to compare with the approved one: repair what the message names."},
		{ReasonGroupChanged, Held, "A Service joined the group after its membership was recorded: take its annotation off until this walk has ended."},
		{ReasonPlanDrifted, Held, "Service, policy or members changed since the plan was recorded: undo that, or raise the attempt."},
		{ReasonNotApproved, Held, "Nobody approved this plan: set approvedPlan to the plan's hash."},
		{ReasonJournalFull, Held, "The journal has no room for another attempt: go Back and start over."},
		{ReasonNewPathInUse, Held, "A new plan waits until nobody uses the path of the last one."},
		{ReasonAddressTaken, Held, "Somebody else holds or uses an address of the plan: the message names the object."},
		{ReasonAborted, Held, "The new path failed in this attempt and the names went back: repair it and raise the attempt."},
		{ReasonReverted, Held, "Somebody else changed the name after us: change it at its source, then raise the attempt."},
		{ReasonNameOwned, Held, "Another owner's mark stands at the name: it must let go first."},
		{ReasonNameExternal, Held, "external-dns owns the name: take it out of its sources first."},
		{ReasonNameAlias, Held, "The name became a CNAME: put its addresses back, or go Back and plan anew."},
		{ReasonNameChanged, Held, "The name no longer answers what the snapshot holds: restore it, or go Back and start over."},
		{ReasonStepRefused, Held, "The plan asks for a share that DNS cannot serve: correct the policy and raise the attempt."},
		{ReasonOrderFixed, Held, "A name server gives addresses always in one order, so a share below 50 is not to be had: let it rotate, or leave such shares out."},
		{ReasonOldPathFailed, Held, "The old path does not answer, so names are not sent back to it: repair the Service, or its address."},
		{ReasonConflict, Held, "Somebody else holds an address that would be put back: the message names the object."},
		{ReasonDenyEnabled, Held, "The API server refuses the field: disable DenyServiceExternalIPs for the way back."},
		{ReasonServiceGone, Held, "A member Service is gone: recreate it."},
		{ReasonFieldReturned, Held, "Somebody else put the field back: remove it at its source, then raise the attempt."},
	}
}
