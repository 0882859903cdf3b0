#!/usr/bin/env bash
# e2e-ring.sh [PATTERN]: the stories on a real kind cluster: makes it anew, runs the stories whose names match (go test -run;
# default: stories 1 to 5, 7 and the killed leader), takes it down. Writes go test's JSON to stdout.
# OFFRAMP_E2E_KEEP=1 leaves the cluster up. The table of results, and artifacts of failed stories: bin/e2e-results/PROXY_MODE.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
pattern=${1:-TestWalks|TestMisbehaviors|TestKilled}

finish() {
  [ "${OFFRAMP_E2E_KEEP:-0}" = 1 ] || hack/kind/cluster.sh down >&2
}
trap finish EXIT

# What a run that failed early leaves must not pass for its results.
case ${KUBE_PROXY_MODE:-nftables} in nftables | iptables) rm -rf "bin/e2e-results/${KUBE_PROXY_MODE:-nftables}" ;; esac
hack/kind/cluster.sh new >&2
# shellcheck source=/dev/null
source bin/e2e/env
go test -tags e2e -json -count=1 -parallel 8 -timeout "${OFFRAMP_E2E_TIMEOUT:-60m}" -run "$pattern" ./e2e/stories
