package probe

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// maxNames that a detail lists: a certificate may hold thousands.
const maxNames = 8

// handshake completes a TLS handshake (1.2 or newer) with Host as SNI and reports the leaf. Whether anybody should trust
// it is not this package's question: old and new path are compared, and a private CA is no failure.
func handshake(ctx context.Context, c Check) (string, error) {
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
	return leafDetail(secure.ConnectionState())
}

func leafDetail(state tls.ConnectionState) (string, error) {
	if len(state.PeerCertificates) == 0 {
		return "", errors.New("handshake: the server showed no certificate")
	}
	leaf := state.PeerCertificates[0]
	names := leaf.DNSNames
	more := ""
	if len(names) > maxNames {
		more = fmt.Sprintf(" and %d more", len(names)-maxNames)
		names = names[:maxNames]
	}
	sum := sha256.Sum256(leaf.Raw)
	return fmt.Sprintf("%s, leaf for %q%s until %s, sha256 %s", tls.VersionName(state.Version), names, more,
		leaf.NotAfter.UTC().Format(time.RFC3339), hex.EncodeToString(sum[:8])), nil
}
