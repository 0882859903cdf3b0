#!/usr/bin/env bash
# Regenerates everything and fails if anything changed, if a module is not tidy or if a file is not formatted.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
status=0
fail() { printf 'verify: %s\n' "$*" >&2; status=1; }

generated() { { find config/crd docs -type f; ls api/v1alpha1/zz_generated.deepcopy.go; } | sort | xargs sha256sum; }
before=$(generated)
hack/generate.sh
after=$(generated)
if [ "$before" != "$after" ]; then
  diff <(echo "$before") <(echo "$after") | awk '/^[<>]/ {print $3}' | sort -u >&2
  fail "the files above were out of date: run make generate and commit them"
fi

for module in . tools guard/celtest; do
  (cd "$module" && go mod tidy -diff) >&2 || fail "$module/go.mod is not tidy: run go mod tidy in $module"
done

files=$(find . -name '*.go' -not -name 'zz_generated*' -not -path './bin/*' | sort)
unformatted=$(echo "$files" | xargs "$(hack/tool.sh gofumpt)" -l)
[ -z "$unformatted" ] || fail "not formatted, run make fmt:"$'\n'"$unformatted"
exit $status
