package probe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"

	"offramp.dev/migration"
)

// maxBody and maxHeaders are what is read of an answer.
const (
	maxBody    = 64 << 10
	maxHeaders = 64 << 10
)

// get asks once. A status from 200 to 399 is good; a redirect is an answer and is not followed. 404 is not good: it is
// what a Gateway says while it has no route. The body is hashed, never shown.
func get(ctx context.Context, c Check, shown *migration.Answer) (string, error) {
	request, err := newRequest(ctx, c)
	if err != nil {
		return "", err
	}
	// A transport, not a client: a client follows redirects and keeps cookies.
	response, err := transport(c).RoundTrip(request)
	if err != nil {
		return "", withoutAnswer(err)
	}
	defer func() { _ = response.Body.Close() }()
	shown.Status = response.StatusCode
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err != nil {
		return "", fmt.Errorf("HTTP %d, but the body broke off after %d bytes: %w", response.StatusCode, len(body), withoutAnswer(err))
	}
	shown.Body = hash(body[:min(len(body), maxBody)])
	detail := fmt.Sprintf("HTTP %d, %s", response.StatusCode, bodyDetail(body))
	if response.StatusCode < 200 || response.StatusCode > 399 {
		return "", errors.New(detail)
	}
	return detail, nil
}

// newRequest names the literal address in the URL and the host in the header only.
func newRequest(ctx context.Context, c Check) (*http.Request, error) {
	path := c.Path
	if path == "" {
		path = "/"
	}
	reference, err := url.ParseRequestURI(path)
	if err != nil {
		return nil, fmt.Errorf("path %q: %w", short(path), err)
	}
	target := url.URL{
		Scheme:   "http",
		Host:     netip.AddrPortFrom(c.Address.Unmap(), c.Port).String(),
		Path:     reference.Path,
		RawPath:  reference.RawPath,
		RawQuery: reference.RawQuery,
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Host = c.Host
	request.Header.Set("User-Agent", "offramp-probe")
	return request, nil
}

// transport has no proxy, no reuse and no decompression: a small answer must not become a large one.
func transport(c Check) *http.Transport {
	return &http.Transport{
		DialContext:            func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, c) },
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeaders,
	}
}

// withoutAnswer lets errors of the network through and hides what the parser says: it quotes the answer, and a detail
// that quotes answers would let a tenant read through the prober.
func withoutAnswer(err error) error {
	var network *net.OpError
	switch {
	case errors.As(err, &network), isTimeout(err), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the connection was closed without an HTTP answer")
	default:
		return errors.New("the answer is not one that HTTP/1 allows")
	}
}

func bodyDetail(body []byte) string {
	more := ""
	if len(body) > maxBody {
		body, more = body[:maxBody], " or more"
	}
	return fmt.Sprintf("%d bytes%s, sha256 %.16s", len(body), more, hash(body))
}

// hash is the SHA-256 in hex.
func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
