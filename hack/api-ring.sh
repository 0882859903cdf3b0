#!/usr/bin/env bash
# The API ring: a real kube-apiserver, etcd and BIND 9 on this machine. Everything is fetched and built first; the tests
# then run in a network namespace of their own where that is possible, so that nothing they do leaves the machine.
# Writes go test's JSON to stdout.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH=$PATH:/usr/sbin:/sbin
say() { printf 'api-ring: %s\n' "$*" >&2; }

hack/need.sh named bind9
KUBEBUILDER_ASSETS=$(hack/assets/build.sh)
export KUBEBUILDER_ASSETS

mkdir -p bin
CGO_ENABLED=0 go build -trimpath -o bin/ ./cmd/...
go test -tags api -exec true ./e2e/api/... ./e2e/gatewaydouble >/dev/null # compiles, runs nothing

run=(go test -tags api -p 1 -json -count=1 -timeout "${OFFRAMP_API_TIMEOUT:-20m}" ./e2e/api/... ./e2e/gatewaydouble)
if [ "$(id -u)" = 0 ] && hack/need.sh unshare util-linux && hack/need.sh ip iproute2 && unshare -n true 2>/dev/null; then
  say "running in a network namespace"
  exec unshare -n sh -c 'ip link set lo up && exec "$@"' sh "${run[@]}"
fi
say "no right to make a network namespace: running on this host's loopback"
exec "${run[@]}"
