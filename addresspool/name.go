package addresspool

import (
	"fmt"
	"net/netip"
	"strings"
)

// longestQuote bounds how much of a tenant's text an error repeats.
const longestQuote = 64

// Canonical parses an address as a tenant may have written it. Leading zeros and IPv4-mapped forms are read as the
// address they mean, with strict=false: API servers since 1.36 refuse those spellings (StrictIPCIDRValidation). Upper
// case and uncompressed IPv6 are strict, since the API server takes them. Zones, brackets, CIDRs and names are errors.
// The address returned is never IPv4-mapped and has no zone.
func Canonical(text string) (addr netip.Addr, strict bool, err error) {
	if why := refusal(text); why != "" {
		return netip.Addr{}, false, fmt.Errorf("%s is no address: %s", Quote(text), why)
	}
	addr, err = netip.ParseAddr(text)
	if err == nil {
		return addr.Unmap(), !addr.Is4In6(), nil
	}
	addr, err = netip.ParseAddr(withoutLeadingZeros(text))
	if err != nil {
		return netip.Addr{}, false, fmt.Errorf("%s is no address: write an IPv4 or IPv6 address such as 192.0.2.50 or 2001:db8::50", Quote(text))
	}
	return addr.Unmap(), false, nil
}

// Quote quotes what a tenant wrote, cut to a length that fits a message.
func Quote(text string) string {
	if len(text) <= longestQuote {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprintf("%q... (%d bytes)", text[:longestQuote], len(text))
}

// refusal names the mistakes that have a way out of their own.
func refusal(text string) string {
	switch {
	case text == "":
		return "it is empty, remove it"
	case strings.Contains(text, "%"):
		return "an address with a zone means something on one host only, write it without"
	case strings.ContainsAny(text, "[]"):
		return "write it without brackets"
	case strings.Contains(text, "/"):
		return "it is a range, write single addresses"
	case strings.TrimSpace(text) != text:
		return "it has white space around it"
	}
	return ""
}

// withoutLeadingZeros drops leading zeros in the dotted part, which older API servers read as decimal, never as octal.
func withoutLeadingZeros(text string) string {
	colon := strings.LastIndex(text, ":") + 1
	parts := strings.Split(text[colon:], ".")
	if len(parts) != 4 {
		return text
	}
	for i, p := range parts {
		trimmed := strings.TrimLeft(p, "0")
		if trimmed == "" && p != "" {
			trimmed = "0"
		}
		parts[i] = trimmed
	}
	return text[:colon] + strings.Join(parts, ".")
}

// ClaimName is the object name of the claim of a: IPv4 dotted; IPv6 canonical (RFC 5952) with "-" for ":", an edge hyphen
// padded with 0 because an object name may not begin or end with one ("::1" is "0--1"). IPv4-mapped addresses have the
// name of the IPv4 address. No address, or one with a zone, has no name: "".
func ClaimName(a netip.Addr) string {
	if !a.IsValid() || a.Zone() != "" {
		return ""
	}
	text := a.Unmap().String()
	if strings.HasPrefix(text, "::") {
		text = "0" + text
	}
	if strings.HasSuffix(text, "::") {
		text += "0"
	}
	return strings.ReplaceAll(text, ":", "-")
}

// ParseClaimName is the inverse of ClaimName. A name that ClaimName would not have made is an error, so that one address
// can never have two rows.
func ParseClaimName(name string) (netip.Addr, error) {
	addr, err := netip.ParseAddr(strings.ReplaceAll(name, "-", ":"))
	if err != nil || ClaimName(addr) != name {
		return netip.Addr{}, fmt.Errorf("%s is no claim name: it must be an IPv4 address, or a canonical IPv6 address with - in place of each colon", Quote(name))
	}
	return addr, nil
}
