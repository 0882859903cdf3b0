package cli

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/pflag"
)

// sources are what can be looked at beside objects.
type sources struct {
	// auditLogs are files of the API server's audit log, or "-".
	auditLogs []string
	dns       string
}

func (s *sources) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&s.auditLogs, "audit-log", nil,
		"file or directory of the API server's audit log (JSON lines, gzip or not), or - for standard input; may be repeated")
	f.StringVar(&s.dns, "dns", string(dnsAuto),
		"ask the name servers of the DNSZones: auto (of a cluster, not of files), on or off")
}

// collectFilesAnd reads manifests, and what else is to be looked at.
func (a *app) collectFilesAnd(ctx context.Context, paths []string, s sources) (*collection, error) {
	if slices.Contains(paths, "-") && slices.Contains(s.auditLogs, "-") {
		return nil, errors.New("-f - and --audit-log - both ask for standard input; give one of them a file")
	}
	if err := dnsMode(s.dns).check(); err != nil {
		return nil, err
	}
	c, err := a.collectFiles(ctx, paths)
	if err != nil {
		return nil, err
	}
	a.readDNS(ctx, c, dnsMode(s.dns) == dnsOn)
	return c, a.readAudit(ctx, c, s.auditLogs)
}

// collectClusterAnd reads a cluster, and what else is to be looked at.
func (a *app) collectClusterAnd(ctx context.Context, conn *Connection, namespace string, s sources) (*collection, error) {
	if err := dnsMode(s.dns).check(); err != nil {
		return nil, err
	}
	c, err := a.collectCluster(ctx, conn, namespace)
	if err != nil {
		return nil, err
	}
	a.readDNS(ctx, c, dnsMode(s.dns) != dnsOff)
	return c, a.readAudit(ctx, c, s.auditLogs)
}
