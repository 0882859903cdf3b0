package dnsctl

import (
	"fmt"
	"net/netip"
	"strings"
)

// Lengths of RFC 1035 section 2.3.4, in octets of the text form without the trailing dot.
const (
	maxName  = 253
	maxLabel = 63
)

// ValidateName tells whether name can be the owner of address records: labels of lower-case letters, digits and inner
// hyphens (RFC 1123 section 2.1), at most 63 octets each and 253 together (RFC 2181 section 11), international labels
// in their A-form (RFC 5890), "*" as the first label only (RFC 4592), no trailing dot. The error says what is wrong
// and what to write instead.
func ValidateName(name string) error {
	if name == "" || len(name) > maxName {
		return fmt.Errorf("name %.40q has %d octets: want 1 to %d", name, len(name), maxName)
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return fmt.Errorf("name %q is an address: want a host name", name)
	}
	labels := strings.Split(name, ".")
	if labels[0] == "*" && len(labels) > 1 {
		labels = labels[1:]
	}
	for _, l := range labels {
		if why := labelFault(l); why != "" {
			return fmt.Errorf("name %q: label %q: %s", name, l, why)
		}
	}
	return nil
}

// labelFault says what is wrong with a label; empty if nothing is.
func labelFault(l string) string {
	switch {
	case l == "":
		return "empty: write no leading, double or trailing dot"
	case len(l) > maxLabel:
		return fmt.Sprintf("%d octets, at most %d are allowed", len(l), maxLabel)
	case l[0] == '-' || l[len(l)-1] == '-':
		return "begins or ends with a hyphen"
	case len(l) > 3 && l[2:4] == "--" && l[:2] != "xn":
		return "hyphens in the third and fourth place belong to A-labels (xn--...) only"
	}
	for _, c := range []byte(l) {
		if why := byteFault(c); why != "" {
			return why
		}
	}
	return ""
}

func byteFault(c byte) string {
	switch {
	case lowerAlnum(c) || c == '-':
		return ""
	case c >= 'A' && c <= 'Z':
		return "upper case: write it in lower case"
	case c >= 0x80:
		return "not ASCII: write the A-label (xn--...)"
	case c == '*':
		return "* may be the first label only, and alone"
	}
	return fmt.Sprintf("%q is not allowed in a host name", rune(c))
}

func lowerAlnum(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

// Under tells whether name equals domain or lies under it, at label borders. No name lies under an empty domain.
func Under(domain, name string) bool {
	domain, name = fold(domain), fold(name)
	return domain != "" && (name == domain || strings.HasSuffix(name, "."+domain))
}

// Permits tells whether one of the suffixes is name or a domain above it, at label borders: example.com permits
// example.com and www.example.com, not badexample.com.
func Permits(suffixes []string, name string) bool {
	for _, s := range suffixes {
		if Under(s, name) {
			return true
		}
	}
	return false
}

// ZoneFor is the zone with the longest apex above name.
func ZoneFor(name string, zones []Zone) (Zone, bool) {
	var best Zone
	found := false
	for _, z := range zones {
		longer := !found || len(fold(z.Apex)) > len(fold(best.Apex))
		if Under(z.Apex, name) && longer {
			best, found = z, true
		}
	}
	return best, found
}
