package addresspool

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"offramp.dev/api/v1alpha1"
)

// Rows reads the ledger: a claim for each row, and for a shared row one for each entry point that shares it. Rows whose
// address cannot be read are left out; the API server refuses them.
func Rows(claims []v1alpha1.AddressClaim) []Claim {
	var out []Claim
	for i := range claims {
		s := &claims[i].Spec
		a, _, err := Canonical(s.Address)
		if err != nil {
			continue
		}
		row := Claim{Address: a, Role: Role(s.Role), EntryPoint: s.EntryPoint, Holders: readHolders(s.Holders)}
		if len(s.Shares) == 0 {
			out = append(out, row)
		}
		for _, share := range s.Shares {
			row.EntryPoint, row.Holders, row.Listeners = share.EntryPoint, readHolders(share.Holders), readListeners(share.Listeners)
			out = append(out, row)
		}
	}
	return out
}

func readHolders(in []v1alpha1.ClaimHolder) []Holder {
	out := make([]Holder, 0, len(in))
	for _, h := range in {
		out = append(out, Holder{Namespace: h.Namespace, Name: h.Name, Ports: h.Ports})
	}
	return out
}

func readListeners(in []v1alpha1.ClaimListener) []Listener {
	out := make([]Listener, 0, len(in))
	for _, l := range in {
		out = append(out, Listener{Port: l.Port, Protocol: string(l.Protocol), Hostnames: l.Hostnames})
	}
	return out
}

// EntryPoints are those that hold the row, in the order in which they came.
func EntryPoints(row *v1alpha1.AddressClaimSpec) []string {
	if len(row.Shares) == 0 {
		return []string{row.EntryPoint}
	}
	out := make([]string, 0, len(row.Shares))
	for _, s := range row.Shares {
		out = append(out, s.EntryPoint)
	}
	return out
}

// HeldBy tells whether an entry point holds the row, alone or with others.
func HeldBy(row *v1alpha1.AddressClaimSpec, entryPoint string) bool {
	return slices.Contains(EntryPoints(row), entryPoint)
}

// NewRow is the row that claim makes where there is none.
func NewRow(claim Claim) v1alpha1.AddressClaimSpec {
	out := v1alpha1.AddressClaimSpec{
		Address: claim.Address.Unmap().String(), Role: v1alpha1.ClaimRole(claim.Role), EntryPoint: claim.EntryPoint,
		Holders: writeHolders(claim.Holders), Reason: "plan of EntryPoint " + claim.EntryPoint,
	}
	if claim.Shared() {
		out.Shares = []v1alpha1.ClaimShare{shareOf(claim)}
	}
	return out
}

// Join is the row with claim's share in it, in place of one that the entry point had before. It admits nothing: see
// Admit. The row given stays as it is.
func Join(row *v1alpha1.AddressClaimSpec, claim Claim) v1alpha1.AddressClaimSpec {
	out := row.DeepCopy()
	mine := func(s v1alpha1.ClaimShare) bool { return s.EntryPoint == claim.EntryPoint }
	if i := slices.IndexFunc(out.Shares, mine); i >= 0 {
		out.Shares[i] = shareOf(claim)
	} else {
		out.Shares = append(out.Shares, shareOf(claim))
	}
	return settle(out)
}

// Leave is the row without what entryPoint holds of it; last is true where nobody would hold it then, so that the row
// itself goes. The row given stays as it is.
func Leave(row *v1alpha1.AddressClaimSpec, entryPoint string) (rest v1alpha1.AddressClaimSpec, last bool) {
	out := row.DeepCopy()
	out.Shares = slices.DeleteFunc(out.Shares, func(s v1alpha1.ClaimShare) bool { return s.EntryPoint == entryPoint })
	if len(out.Shares) == 0 {
		return *row.DeepCopy(), HeldBy(row, entryPoint)
	}
	return settle(out), false
}

// settle makes what is said of the whole row from its shares.
func settle(row *v1alpha1.AddressClaimSpec) v1alpha1.AddressClaimSpec {
	names := EntryPoints(row)
	if !slices.Contains(names, row.EntryPoint) {
		row.EntryPoint = names[0]
	}
	var all []v1alpha1.ClaimHolder
	for _, s := range row.Shares {
		all = append(all, s.Holders...)
	}
	row.Holders, row.Reason = merged(all), reason(names)
	return *row
}

func reason(names []string) string {
	if len(names) == 1 {
		return "plan of EntryPoint " + names[0]
	}
	text := fmt.Sprintf("shared by %d entry points: %s", len(names), strings.Join(names[:min(len(names), mostNames)], ", "))
	if len(names) > mostNames {
		text += ", ..."
	}
	return text
}

// mostNames bounds how many entry points the reason of a row names: it has 1024 characters, a name at most 253.
const mostNames = 3

// merged names each holder once, with the ports of all its shares.
func merged(all []v1alpha1.ClaimHolder) []v1alpha1.ClaimHolder {
	out := []v1alpha1.ClaimHolder{}
	for _, h := range all {
		i := slices.IndexFunc(out, func(o v1alpha1.ClaimHolder) bool { return o.Namespace == h.Namespace && o.Name == h.Name })
		if i < 0 {
			out = append(out, v1alpha1.ClaimHolder{Namespace: h.Namespace, Name: h.Name, Ports: []string{}})
			i = len(out) - 1
		}
		out[i].Ports = append(out[i].Ports, h.Ports...)
		slices.Sort(out[i].Ports)
		out[i].Ports = slices.Compact(out[i].Ports)
	}
	slices.SortFunc(out, func(a, b v1alpha1.ClaimHolder) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return out
}

func shareOf(claim Claim) v1alpha1.ClaimShare {
	out := v1alpha1.ClaimShare{EntryPoint: claim.EntryPoint, Holders: writeHolders(claim.Holders), Listeners: []v1alpha1.ClaimListener{}}
	for _, l := range claim.Listeners {
		out.Listeners = append(out.Listeners, v1alpha1.ClaimListener{
			Port: l.Port, Protocol: v1alpha1.ListenerProtocol(l.Protocol), Hostnames: slices.Clone(l.Hostnames),
		})
	}
	return out
}

func writeHolders(in []Holder) []v1alpha1.ClaimHolder {
	out := make([]v1alpha1.ClaimHolder, 0, len(in))
	for _, h := range in {
		out = append(out, v1alpha1.ClaimHolder{Namespace: h.Namespace, Name: h.Name, Ports: append([]string{}, h.Ports...)})
	}
	return out
}
