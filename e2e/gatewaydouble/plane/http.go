package plane

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"sync/atomic"
	"time"
)

// endpointsKey carries the chosen endpoints from the handler to the dialer.
type endpointsKey struct{}

// web answers the requests of one HTTP port.
type web struct {
	routing *atomic.Pointer[routing]
	proxy   *httputil.ReverseProxy
}

func newWeb(r *atomic.Pointer[routing], log *slog.Logger) *web {
	return &web{routing: r, proxy: &httputil.ReverseProxy{
		Rewrite:       rewrite,
		Transport:     transport(),
		FlushInterval: -1,
		ErrorLog:      slog.NewLogLogger(log.Handler(), slog.LevelInfo),
	}}
}

// transport opens a connection for each request: an endpoint that went away leaves nothing behind that could fail later.
func transport() *http.Transport {
	return &http.Transport{
		DisableKeepAlives:  true,
		DisableCompression: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			endpoints, _ := ctx.Value(endpointsKey{}).([]netip.AddrPort)
			return dial(ctx, endpoints)
		},
	}
}

// rewrite keeps the client's Host, and says who the client is; what the client itself says of that is not passed on.
func rewrite(r *httputil.ProxyRequest) {
	r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", "backend", r.In.Host
	r.SetXForwarded()
}

// ServeHTTP answers 404 without a rule, 500 for a broken backend and 503 for one without endpoints, as HTTPRoute has it.
func (h *web) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rule := h.routing.Load().http(r.Host, r.URL.Path)
	if rule == nil {
		http.Error(w, "no route for this host and path", http.StatusNotFound)
		return
	}
	to := rule.next()
	switch {
	case to.broken:
		http.Error(w, "the route's backend does not exist or is not permitted", http.StatusInternalServerError)
	case len(to.endpoints) == 0:
		http.Error(w, errNoEndpoint.Error(), http.StatusServiceUnavailable)
	default:
		h.proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), endpointsKey{}, to.endpoints)))
	}
}

func (h *web) server(log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
