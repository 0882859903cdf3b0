#!/usr/bin/env bash
# Runs the pinned golangci-lint over the given packages (default: all), with the tags of every ring.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ $# -gt 0 ] || set -- ./...
exec "$(hack/tool.sh golangci-lint)" run "$@"
