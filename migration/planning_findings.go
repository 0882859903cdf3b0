package migration

import (
	"slices"
	"strings"

	"offramp.dev/api/v1alpha1"
)

// Reason codes of findings that only planning has; the others are those of packages inventory and gateway.
const (
	// FindingMemberMissing says that a member of the entry point was not found.
	FindingMemberMissing = "MemberMissing"
	// FindingTooManyMembers says that there are more members than one record can hold.
	FindingTooManyMembers = "TooManyMembers"
	// FindingBadPort says that a port number or protocol cannot be served.
	FindingBadPort = "BadPort"
	// FindingBadShares says that the policy's share steps cannot be walked.
	FindingBadShares = "BadShares"
	// FindingNameCannotMove says that a name answers with an old address and cannot be moved.
	FindingNameCannotMove = "NameCannotMove"
	// FindingCannotAdopt says that the Service cannot become one of our class.
	FindingCannotAdopt = "CannotAdopt"
	// FindingFamilyMismatch says that no new address has the family of an old one, or that the Service never served it.
	FindingFamilyMismatch = "FamilyMismatch"
	// FindingNothingToMove says that the strategy is None: there is no walk.
	FindingNothingToMove = "NothingToMove"
	// FindingPlanTooLarge says that plan or snapshot do not fit into a record.
	FindingPlanTooLarge = "PlanTooLarge"
)

// What one entry point may have. The sum fits into one object of the API with its attempts and its journal.
const (
	mostMembers       = 64
	mostAddresses     = 64
	mostPorts         = 64
	mostNames         = 64
	mostChecks        = 512
	mostDocumentBytes = 128 << 10
)

func (p *planner) block(reason, object, message, fix string) {
	p.find(v1alpha1.SeverityBlock, reason, object, message, fix)
}

func (p *planner) ask(reason, object, message, fix string) {
	p.find(v1alpha1.SeverityAsk, reason, object, message, fix)
}

func (p *planner) find(severity v1alpha1.Severity, reason, object, message, fix string) {
	f := v1alpha1.Finding{Reason: reason, Severity: severity, Object: object, Message: message, Fix: fix}
	if !slices.Contains(p.findings, f) {
		p.findings = append(p.findings, f)
	}
}

func (p *planner) blocked() bool {
	return slices.ContainsFunc(p.findings, func(f v1alpha1.Finding) bool { return f.Severity == v1alpha1.SeverityBlock })
}

// sentence makes an error's text one.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
