package addresspool

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Reserved is a range that no pool may touch: a node's address, pod or Service addresses, the API server, a name server.
type Reserved struct {
	Range Range
	// Object is "Kind namespace/name", What it is to it ("node address", "pod addresses").
	Object, What string
}

// Touching lists the reserved ranges that a pool touches, sorted. MetalLB itself accepts such pools; the node, or the
// cluster, is cut off as soon as such an address is assigned.
func Touching(pool Pool, reserved []Reserved) []Conflict {
	var out []Conflict
	for _, r := range reserved {
		if i := slices.IndexFunc(pool.Ranges, r.Range.Overlaps); i >= 0 {
			out = append(out, Conflict{r.Range.First, r.Object, fmt.Sprintf(
				"range %s of pool %s touches %s (%s of %s); take it out of the pool", pool.Ranges[i], pool.Name, r.Range, r.What, r.Object)})
		}
	}
	slices.SortFunc(out, func(a, b Conflict) int {
		return cmp.Or(a.Address.Compare(b.Address), strings.Compare(a.Object, b.Object), strings.Compare(a.Message, b.Message))
	})
	return slices.Compact(out)
}

// String is the address itself, or "first-last".
func (r Range) String() string {
	if r.First == r.Last {
		return r.First.String()
	}
	return r.First.String() + "-" + r.Last.String()
}
