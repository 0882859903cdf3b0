#!/usr/bin/env bash
# tool.sh NAME: prints the path of a pinned tool, building it first where it is not in the cache. The cache key is the
# content of the module that pins it, so that another pin is another file and a second run builds nothing.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${OFFRAMP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/offramp}

case ${1:-} in
  controller-gen) module=tools package=sigs.k8s.io/controller-tools/cmd/controller-gen ;;
  gofumpt) module=tools package=mvdan.cc/gofumpt ;;
  golangci-lint) module=tools/lint package=github.com/golangci/golangci-lint/v2/cmd/golangci-lint ;;
  *) echo "tool.sh: unknown tool '${1:-}': one of controller-gen, gofumpt, golangci-lint" >&2; exit 1 ;;
esac

cd "$root/$module"
key=$(cat go.mod go.sum | sha256sum | cut -c1-16)-$(go env GOVERSION GOARCH | tr '\n' '-' | sed 's/-$//')
out=$cache/tools/$key/$1
if [ ! -x "$out" ]; then
  echo "tool.sh: building $1 (once; some minutes for golangci-lint)" >&2
  mkdir -p "$(dirname "$out")"
  go build -trimpath -o "$out.$$" "$package"
  mv "$out.$$" "$out"
fi
echo "$out"
