package guard

import (
	"slices"
	"strings"

	"offramp.dev/api/v1alpha1"
)

// Names of the guard's objects. The controller and the policies refer to each other by them.
const (
	// PolicyClaimed is the policy that denies claimed addresses to everybody but their holders.
	PolicyClaimed = "claimed-addresses.offramp.dev"
	// PolicyAdopted is the policy that keeps everybody else from Services of class offramp.dev/adopted.
	PolicyAdopted = "adopted-services.offramp.dev"
	// ConfigMapName is the policy's parameter object, in the controller's namespace: one key for each claimed address
	// (the claim's name), holding the words "namespace/name" of those who may carry it ("namespace/*": any Service there).
	ConfigMapName = "offramp-guard"
)

// Holders is the data of the parameter object for a ledger: a key for each claim, its holders sorted and each named
// once. A claim without holders is held by nobody, which is not the same as no claim.
func Holders(claims []v1alpha1.AddressClaim) map[string]string {
	out := map[string]string{}
	for _, c := range claims {
		words := strings.Fields(out[c.Name])
		for _, h := range c.Spec.Holders {
			words = append(words, h.Namespace+"/"+h.Name)
		}
		slices.Sort(words)
		out[c.Name] = strings.Join(slices.Compact(words), " ")
	}
	return out
}
