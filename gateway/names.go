package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// maxGatewayName leaves room for what implementations add when they name the generated Service after the Gateway: a
// prefix, or the name of the class. A Service name ends at 63.
const maxGatewayName = 40

// Label is the label value for an entry point: the name itself, or a readable prefix and a hash where the name is
// longer than 63 or no legal value.
func Label(entryPoint string) string {
	if entryPoint != "" && len(validation.IsValidLabelValue(entryPoint)) == 0 {
		return entryPoint
	}
	return shorten(entryPoint, validation.LabelValueMaxLength)
}

// Name is the name of the entry point's Gateway: a legal Service name of at most 40 characters.
func Name(entryPoint string) string {
	if len(entryPoint) <= maxGatewayName && len(validation.IsDNS1035Label(entryPoint)) == 0 {
		return entryPoint
	}
	return shorten(entryPoint, maxGatewayName)
}

// ServiceName is the name of the Service that runs parallel to the Service namespace/name. It depends on the entry
// point too, so that a tenant's own "<name>-offramp" is not met by accident.
func ServiceName(entryPoint, namespace, name string) string {
	return withHash(name+"-offramp", digest(entryPoint, namespace, name), validation.DNS1123LabelMaxLength)
}

// shorten makes a DNS label of at most limit characters that starts with a letter and ends in a hash of text.
func shorten(text string, limit int) string { return withHash(text, digest(text), limit) }

// withHash puts a hash behind what is legal in prefix, within limit characters.
func withHash(prefix, hash string, limit int) string {
	legal := strings.Trim(legalLabel(prefix), "-")
	if legal == "" || legal[0] < 'a' {
		legal = "ep-" + legal
	}
	if room := limit - len(hash) - 1; len(legal) > room {
		legal = legal[:room]
	}
	return strings.TrimRight(legal, "-") + "-" + hash
}

// legalLabel lowers letters and turns every byte that no DNS label holds into a hyphen.
func legalLabel(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		default:
			return '-'
		}
	}, text)
}

// digest is 10 hexadecimal characters of a SHA-256 over parts. The separator is a byte that no name holds.
func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:5])
}
