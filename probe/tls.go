package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"time"

	"offramp.dev/migration"
)

// maxNames that a detail lists: a certificate may hold thousands.
const maxNames = 8

// handshake completes a TLS handshake (1.2 or newer) with Host as SNI and reports the leaf. Whether anybody should trust
// it is not this package's question: old and new path are compared, and a private CA is no failure.
func handshake(ctx context.Context, c Check, shown *migration.Answer) (string, error) {
	conn, err := dial(ctx, c)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	config := &tls.Config{ServerName: c.Host, MinVersion: tls.VersionTLS12}
	// Nothing is sent over the connection and nothing read from it, so a stranger's certificate can harm nobody.
	config.InsecureSkipVerify = true
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return "", fmt.Errorf("handshake: %w", err)
	}
	return leafDetail(secure.ConnectionState(), shown)
}

func leafDetail(state tls.ConnectionState, shown *migration.Answer) (string, error) {
	if len(state.PeerCertificates) == 0 {
		return "", errors.New("handshake: the server showed no certificate")
	}
	leaf := state.PeerCertificates[0]
	shown.TLS, shown.Begins, shown.Expires = true, leaf.NotBefore, leaf.NotAfter
	shown.Names = slices.Sorted(slices.Values(leaf.DNSNames))
	var chain []byte
	for _, above := range state.PeerCertificates[1:] {
		chain = append(chain, above.Raw...)
	}
	shown.Chain = hash(chain)
	names := leaf.DNSNames
	more := ""
	if len(names) > maxNames {
		more = fmt.Sprintf(" and %d more", len(names)-maxNames)
		names = names[:maxNames]
	}
	return fmt.Sprintf("%s, leaf for %q%s until %s, sha256 %.16s", tls.VersionName(state.Version), names, more,
		leaf.NotAfter.UTC().Format(time.RFC3339), hash(leaf.Raw)), nil
}
