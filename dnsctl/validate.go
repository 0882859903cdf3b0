package dnsctl

import (
	"fmt"
	"net/netip"
)

// ValidateShares refuses a list of shares that cannot be walked: each must be larger than the one before, the last is
// 100, and none lies between 51 and 99, because no set of records gives old a minority that survives a crash.
func ValidateShares(percents []int32) error {
	last := int32(0)
	for i, p := range percents {
		switch {
		case p <= last:
			return fmt.Errorf("share %d (%d %%) is not above the one before (%d %%): list them in rising order, from 1", i+1, p, last)
		case p > 100:
			return fmt.Errorf("share %d is %d %%: at most 100", i+1, p)
		case p > 50 && p < 100:
			return fmt.Errorf("share %d is %d %%: DNS can give 1 to 50 or 100, write 50 or 100", i+1, p)
		}
		last = p
	}
	if last != 100 {
		return fmt.Errorf("the last share is %d %%: it must be 100", last)
	}
	return nil
}

// Validate refuses a name whose shift would lose or invent something: a bad name, an alias, no old member in the
// snapshot, an address that no record can carry, a family that would be emptied.
func (n Name) Validate() error {
	if err := ValidateName(n.Name); err != nil {
		return err
	}
	switch {
	case len(MarkName(n.Name)) > maxName:
		return fmt.Errorf("name %s: too long for our mark at %s.<name>: at most %d octets", n.Name, markLabel, maxName-len(markLabel)-1)
	case n.Snapshot.Alias != "":
		return fmt.Errorf("name %s is an alias of %s: move the target, in its own zone", n.Name, n.Snapshot.Alias)
	case n.LowTTL == 0:
		return fmt.Errorf("name %s: low TTL is 0: want at least 1 second", n.Name)
	case !n.HasOld(n.Snapshot):
		return fmt.Errorf("name %s answers %s: none of the old addresses is there", n.Name, n.Snapshot)
	}
	if err := n.validateMembers(); err != nil {
		return err
	}
	return n.validateFamilies()
}

func (n Name) validateMembers() error {
	for _, a := range sorted(append(append([]netip.Addr(nil), n.Old...), n.New...)) {
		if !familyA.holds(a) && !familyAAAA.holds(a) {
			return fmt.Errorf("name %s: address %s fits neither A nor AAAA: want plain IPv4 or IPv6 without a zone", n.Name, a)
		}
	}
	if both := intersect(n.Old, n.New); len(both) > 0 {
		return fmt.Errorf("name %s: address %s is both old and new", n.Name, both[0])
	}
	for _, a := range sorted(n.New) {
		if n.Snapshot.holdsAny([]netip.Addr{a}) {
			return fmt.Errorf("name %s already answers the new address %s: take it out of the record first", n.Name, a)
		}
	}
	return nil
}

func (n Name) validateFamilies() error {
	for _, f := range []family{familyA, familyAAAA} {
		if len(intersect(f.of(n.Snapshot).Addresses, n.Old)) > 0 && len(only(n.New, f)) == 0 {
			return fmt.Errorf("name %s: family %s has an old address but no new one: give the new side an address of that family", n.Name, f)
		}
	}
	return nil
}
