package inventory

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"offramp.dev/addresspool"
)

// longestText bounds how much of one argument, variable or embedded document is searched for addresses.
const longestText = 1 << 20

// addressesIn finds the addresses in a text, with or without a port, brackets or a prefix length: whatever is a run of
// digits, letters a to f, dots and colons and can be read as an address. Order of appearance, repetitions included.
func addressesIn(text string) []netip.Addr {
	const shortest, longest = 2, 64
	var out []netip.Addr
	for run := range strings.FieldsFuncSeq(text[:min(len(text), longestText)], func(r rune) bool { return !isAddressRune(r) }) {
		if len(run) < shortest || len(run) > longest || !strings.ContainsAny(run, ".:") {
			continue
		}
		if a, ok := addressOf(run); ok {
			out = append(out, a)
		}
	}
	return out
}

func isAddressRune(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'f' || r >= 'A' && r <= 'F' || r == '.' || r == ':'
}

// addressOf reads a run as an address, as one with a port, or as one at the end of a sentence.
func addressOf(run string) (netip.Addr, bool) {
	host, _, _ := strings.Cut(run, ":")
	trimmed := strings.TrimRight(run, ".:")
	for _, text := range []string{run, host, trimmed, strings.TrimLeft(trimmed, ":"), lastPart(trimmed)} {
		if a, err := netip.ParseAddr(text); err == nil {
			return a.Unmap(), true
		}
	}
	return netip.Addr{}, false
}

// lastPart is what follows a listener's name that looks like hexadecimal digits: "FACE:192.0.2.1".
func lastPart(run string) string {
	return run[strings.LastIndexByte(run, ':')+1:]
}

// listOf reads addresses from a list of values as JSON holds them; a text is searched.
func listOf(value any) []netip.Addr {
	switch v := value.(type) {
	case string:
		return addressesIn(v)
	case []any:
		var out []netip.Addr
		for _, element := range v {
			if text, ok := element.(string); ok {
				if a, _, err := addresspool.Canonical(text); err == nil {
					out = append(out, a)
				}
			}
		}
		return out
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// flagValues are the values of a flag among arguments, in both forms: "--flag=value" and "--flag value". A flag without a
// value is "true".
func flagValues(args []string, names ...string) []string {
	var out []string
	for i, arg := range args {
		name, value, joined := strings.Cut(arg, "=")
		switch {
		case !slices.Contains(names, "--"+strings.TrimLeft(name, "-")) || !strings.HasPrefix(name, "-"):
		case joined:
			out = append(out, value)
		case i+1 < len(args) && !strings.HasPrefix(args[i+1], "-"):
			out = append(out, args[i+1])
		default:
			out = append(out, "true")
		}
	}
	return out
}

// isSet tells whether the last value of a switch is true.
func isSet(args []string, name string) bool {
	values := flagValues(args, name)
	return len(values) > 0 && values[len(values)-1] == "true"
}
