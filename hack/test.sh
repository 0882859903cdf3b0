#!/usr/bin/env bash
# test.sh [RING...]: runs the rings, cheap ones first (default: all), and prints a line for each. The last line is
# "N passed, N failed". A skipped test, a ring without tests and a ring that did not run are failures: a check that did not
# run checks nothing.
# shellcheck disable=SC2046 # package paths have no spaces
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ $# -gt 0 ] || set -- unit guard walk sim fuzz agent lint verify dns api e2e
count=$#
mkdir -p bin
go build -o bin/ringsum ./hack/ringsum
results=$(mktemp) asides=$(mktemp -d)
# shellcheck disable=SC2046 # process numbers
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$results" "$asides"' EXIT

packages() { go list ./... | grep -v -e '/e2e/api$' -e '/e2e/stories$' -e '/sim$' -e '/sim/'; }
# the race detector wants a C compiler; the tests of dnsctl/rfc2136 write to a real BIND
unit_needs() { hack/need.sh gcc gcc && hack/need.sh named bind9 && hack/need.sh nsupdate bind9-dnsutils; }
ring() { bin/ringsum -results "$results" "$@" || true; }
# for a ring that waits more than it works: it runs beside those that follow, and what it says comes at the end
aside() {
  [ "$count" -gt 1 ] || { ring -ring "$@"; return; }
  echo "=== ring $1 runs beside those that follow"
  ring -ring "$@" >"$asides/$1" 2>&1 &
}

# the faults come one after the other; both modes together send at least 100,000 requests
full=(OFFRAMP_E2E_TIMEOUT="${OFFRAMP_E2E_TIMEOUT:-120m}" OFFRAMP_E2E_REQUESTS="${OFFRAMP_E2E_REQUESTS:-50000}")

for name; do
  case $name in
    unit) unit_needs && ring -ring unit -- env OFFRAMP_WALK_RUNS=300 go test -race -json -timeout 15m $(packages) ;;
    fuzz-seeds) ring -ring fuzz-seeds -- go test -json -run '^Fuzz' $(packages) ;;
    fuzz) ring -ring fuzz -- hack/fuzz-ring.sh ;;
    guard) ring -ring guard -- go -C guard/celtest test -json ./... ;;
    walk) ring -ring walk -- env OFFRAMP_WALK_RUNS="${OFFRAMP_WALK_RUNS:-20000}" go test -json -count=1 -timeout 30m -run Walk ./migration ;;
    sim) ring -ring sim -- go test -json -timeout 20m ./sim/... ;;
    agent) ring -ring agent -- hack/agent-ring.sh ;;
    lint) ring -ring lint -command -- hack/lint.sh ;;
    verify) ring -ring verify -command -- hack/verify.sh ;;
    dns) aside dns -- hack/dns-ring.sh ;;
    api) ring -ring api -- hack/api-ring.sh ;;
    e2e) ring -ring e2e -- hack/e2e-ring.sh ;;
    e2e-nftables) ring -ring e2e-nftables -- env KUBE_PROXY_MODE=nftables OFFRAMP_KEEP_ENGINE=1 "${full[@]}" hack/e2e-ring.sh Test ;;
    e2e-iptables) ring -ring e2e-iptables -- env KUBE_PROXY_MODE=iptables "${full[@]}" hack/e2e-ring.sh Test ;;
    *) echo "test.sh: no ring '$name': unit, fuzz-seeds, guard, walk, sim, fuzz, agent, lint, verify, dns, api, e2e, e2e-nftables, e2e-iptables" >&2; exit 1 ;;
  esac
done
wait
cat "$asides"/* 2>/dev/null || true
bin/ringsum -results "$results" -total -- "$@"
