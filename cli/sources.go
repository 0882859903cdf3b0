package cli

import (
	"context"

	"github.com/spf13/pflag"
)

// sources are what can be looked at beside objects.
type sources struct {
	// auditLogs are files of the API server's audit log, or "-".
	auditLogs []string
}

func (s *sources) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&s.auditLogs, "audit-log", nil,
		"file of the API server's audit log (JSON lines, gzip or not), or - for standard input; may be repeated")
}

// collectFilesAnd reads manifests, and what else is to be looked at.
func (a *app) collectFilesAnd(ctx context.Context, paths []string, s sources) (*collection, error) {
	c, err := a.collectFiles(ctx, paths)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// collectClusterAnd reads a cluster, and what else is to be looked at.
func (a *app) collectClusterAnd(ctx context.Context, conn *Connection, namespace string, s sources) (*collection, error) {
	c, err := a.collectCluster(ctx, conn, namespace)
	if err != nil {
		return nil, err
	}
	return c, nil
}
