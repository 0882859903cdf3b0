package dnsctl

import (
	"encoding/base64"
	"slices"
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
// is not recognized here; see MaybeEncrypted.
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

// ExternalNames are the names inside the zone where external-dns's TXT registry keeps the ownership of the addresses of
// name: without a prefix or suffix the name itself, a-<name>, aaaa-<name> and cname-<name>; with one, that around the first
// label, where %{record_type} stands for the type.
func ExternalNames(zone Zone, name string) []string {
	name = fold(name)
	out := []string{name}
	for _, kind := range []string{"", "a", "aaaa", "cname"} {
		marked := externalName(zone, name, kind)
		if marked == name || slices.Contains(out, marked) || !Under(zone.Apex, marked) || len(marked) > maxName {
			continue
		}
		if first, _, _ := strings.Cut(marked, "."); len(first) <= maxLabel {
			out = append(out, marked)
		}
	}
	return out
}

// recordType is where external-dns's prefix and suffix take the type of the record.
const recordType = "%{record_type}"

// externalName is the name of one text; kind "" is the form of old versions, without a type.
func externalName(zone Zone, name, kind string) string {
	prefix, suffix := strings.ToLower(zone.ExternalPrefix), strings.ToLower(zone.ExternalSuffix)
	typed := strings.Contains(prefix+suffix, recordType)
	prefix, suffix = strings.ReplaceAll(prefix, recordType, kind), strings.ReplaceAll(suffix, recordType, kind)
	first, rest, _ := strings.Cut(name, ".")
	if kind != "" && !typed {
		first = kind + "-" + first
	}
	return prefix + first + suffix + "." + rest
}

// MaybeEncrypted tells whether a text found where an ownership text would be may be one that external-dns encrypted
// (--txt-encrypt-enabled: base64 of a nonce of 12 octets, the data, and a tag of 16). Whose it is nobody can tell.
func MaybeEncrypted(text string) bool {
	raw, err := base64.StdEncoding.DecodeString(strings.Trim(strings.TrimSpace(text), `"`))
	return err == nil && len(raw) > 12+16
}
