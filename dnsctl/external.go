package dnsctl

import (
	"strings"
)

// External is what an ownership text of external-dns says.
type External struct {
	// Owner is the --txt-owner-id of the external-dns that writes the name; empty where the text names none.
	Owner string
	// Resource is kind/namespace/name of the object it was written for.
	Resource string
}

// ParseExternal recognizes the ownership text of external-dns's TXT registry:
// heritage=external-dns,external-dns/owner=<id>,external-dns/resource=<kind>/<namespace>/<name>. An encrypted text
// cannot be told from any other TXT record and is not recognized.
func ParseExternal(text string) (External, bool) {
	fields := strings.Split(strings.Trim(strings.TrimSpace(text), `"`), ",")
	heritage, found := External{}, false
	for _, f := range fields {
		key, value, _ := strings.Cut(strings.TrimSpace(f), "=")
		switch strings.TrimSpace(key) {
		case "heritage":
			found = found || value == "external-dns"
		case "external-dns/owner":
			heritage.Owner = value
		case "external-dns/resource":
			heritage.Resource = value
		}
	}
	if !found {
		return External{}, false
	}
	return heritage, true
}

// ExternalNames are the names inside the zone where external-dns's TXT registry, without a prefix or suffix of its own,
// keeps the ownership of the addresses of name: the name itself, a-<name> and aaaa-<name>.
func ExternalNames(apex, name string) []string {
	name = fold(name)
	out := []string{name}
	for _, kind := range []string{"a-", "aaaa-"} {
		marked := kind + name
		first, _, _ := strings.Cut(marked, ".")
		if len(first) <= maxLabel && len(marked) <= maxName && Under(apex, marked) {
			out = append(out, marked)
		}
	}
	return out
}
