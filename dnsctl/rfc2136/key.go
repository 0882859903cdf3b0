package rfc2136

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/miekg/dns"

	"offramp.dev/dnsctl"
)

// Key is a TSIG key (RFC 8945). It hides its secret from every way of printing it.
type Key struct {
	// Name as the server knows it, with or without a trailing dot.
	Name string
	// Algorithm is hmac-sha256, hmac-sha384 or hmac-sha512.
	Algorithm string
	// Secret in base64, as in named.conf.
	Secret string
	// Previous is the key before it, while keys are changed: it signs where the server refuses the new one. May be nil.
	Previous *Key
}

// String gives name and algorithm only.
func (k Key) String() string { return "TSIG key " + k.Name + " (" + k.Algorithm + ")" }

// GoString is String, so that %#v shows no secret either.
func (k Key) GoString() string { return k.String() }

// MarshalText is String, so that no encoder writes the secret.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Format is String for every verb: %d or %x of a struct would print its fields.
func (k Key) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte(k.String())) }

// KeyFromData reads the data of a Secret: "name", "algorithm" (hmac-sha256 where absent) and "secret" in base64 as in
// named.conf; and, while keys are changed, the key before it under the same words with "previous-" in front. The error
// names the field that is wrong and never its value.
func KeyFromData(data map[string][]byte) (Key, error) {
	k := keyUnder(data, "")
	if _, err := k.normal(); err != nil {
		return k, err
	}
	if len(data[previous+"name"])+len(data[previous+"secret"]) == 0 {
		return k, nil
	}
	before := keyUnder(data, previous)
	if _, err := before.normal(); err != nil {
		return k, fmt.Errorf("the previous key: %w", err)
	}
	k.Previous = &before
	return k, nil
}

// previous stands before the words of the key that goes.
const previous = "previous-"

func keyUnder(data map[string][]byte, prefix string) Key {
	k := Key{
		Name:      strings.TrimSpace(string(data[prefix+"name"])),
		Algorithm: strings.TrimSpace(string(data[prefix+"algorithm"])),
		Secret:    strings.TrimSpace(string(data[prefix+"secret"])),
	}
	if k.Algorithm == "" {
		k.Algorithm = "hmac-sha256"
	}
	return k
}

// normal is the key as the wire wants it: names in canonical form (RFC 4034 section 6.2). Servers echo the key's name
// as they know it, and the library finds the secret only under the lower-case one.
func (k Key) normal() (Key, error) {
	name := strings.TrimSuffix(strings.ToLower(k.Name), ".")
	if _, ok := dns.IsDomainName(name); !ok || name == "" || strings.ContainsAny(name, " \t\r\n\"") {
		return Key{}, errors.New(`key field "name": want the key's name as in named.conf`)
	}
	algorithm := dns.CanonicalName(k.Algorithm)
	switch algorithm {
	case dns.HmacSHA256, dns.HmacSHA384, dns.HmacSHA512:
	default:
		return Key{}, errors.New(`key field "algorithm": want hmac-sha256, hmac-sha384 or hmac-sha512`)
	}
	if raw, err := base64.StdEncoding.DecodeString(k.Secret); err != nil || len(raw) == 0 {
		return Key{}, errors.New(`key field "secret": want base64 as in named.conf, not empty`)
	}
	return Key{Name: dns.CanonicalName(name), Algorithm: algorithm, Secret: k.Secret, Previous: k.Previous}, nil
}

// apexOf is the wire name of the zone's apex.
func apexOf(z dnsctl.Zone) string { return dns.CanonicalName(z.Apex) }
