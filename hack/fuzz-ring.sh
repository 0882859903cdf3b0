#!/usr/bin/env bash
# Fuzzes what reads manifests and what judges them, side by side, OFFRAMP_FUZZ_TIME each (default 60s), beginning with the
# seeds and what earlier runs found worth keeping (in Go's build cache). An input that makes one fail is written to testdata/fuzz
# of its package, and every later unit ring runs it: commit it with the correction.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Each has a file of its own: lines of two at once would be no JSON.
fuzz() { go test -json -run '^$' -fuzz "^$2\$" -fuzztime "${OFFRAMP_FUZZ_TIME:-60s}" -parallel 1 "$1" > "$work/$2"; }
fuzz ./cli/manifest FuzzStream & loader=$!
fuzz ./inventory FuzzTake & classifier=$!
failed=0
wait "$loader" || failed=1
wait "$classifier" || failed=1
cat "$work/FuzzStream" "$work/FuzzTake"
exit "$failed"
