#!/usr/bin/env bash
# e2e-ring.sh [PATTERN]: the stories on a real kind cluster: brings it up, runs the stories whose names match (go test -run;
# default: stories 1 to 5, 7 and the killed leader), takes it down. Writes go test's JSON to stdout.
# OFFRAMP_E2E_KEEP=1 leaves the cluster up. Artifacts of failed stories and the table of results: bin/e2e-results.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
pattern=${1:-TestWalks|TestMisbehaviors|TestKilled}

finish() {
  mkdir -p bin/e2e-results
  cp -r bin/e2e/results.* bin/e2e/artifacts bin/e2e-results/ 2>/dev/null || true
  [ "${OFFRAMP_E2E_KEEP:-0}" = 1 ] || hack/kind/cluster.sh down >&2
}
trap finish EXIT

hack/kind/cluster.sh up >&2
# shellcheck source=/dev/null
source bin/e2e/env
go test -tags e2e -json -count=1 -parallel 8 -timeout "${OFFRAMP_E2E_TIMEOUT:-60m}" -run "$pattern" ./e2e/stories
