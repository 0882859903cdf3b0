#!/usr/bin/env bash
# Prints a folder that holds kube-apiserver, etcd and kubectl for the API ring.
#
# In this order: KUBEBUILDER_ASSETS if it is set; the content cache; setup-envtest if
# a download is possible (OFFRAMP_ENVTEST_DOWNLOAD=0 skips the try); else everything is
# built from the Go modules named in this folder's versions file. A build is kept under
# the hash of what it is made of, so that a second run builds nothing.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=versions
source "$here/versions"
cache=${OFFRAMP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/offramp}

say() { printf 'assets: %s\n' "$*" >&2; }

complete() { [ -x "$1/kube-apiserver" ] && [ -x "$1/etcd" ] && [ -x "$1/kubectl" ]; }

if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
  complete "$KUBEBUILDER_ASSETS" || { say "KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS lacks kube-apiserver, etcd or kubectl; unset it to have them built"; exit 1; }
  echo "$KUBEBUILDER_ASSETS"
  exit 0
fi

key=$(cat "$here/versions" "$here/build.sh" | sha256sum | cut -c1-16)-$(go env GOVERSION GOARCH | tr '\n' '-' | sed 's/-$//')
out=$cache/assets/$key
if complete "$out"; then
  echo "$out"
  exit 0
fi
mkdir -p "$out"

download() { # the published binaries, where a download is possible; quiet failure is fine, building follows
  [ "${OFFRAMP_ENVTEST_DOWNLOAD:-1}" = 1 ] || return 1
  local dir
  dir=$(timeout 120 go run "sigs.k8s.io/controller-runtime/tools/setup-envtest@$SETUP_ENVTEST_VERSION" \
    use "${KUBERNETES_VERSION#v}" --bin-dir "$cache/envtest" -p path 2>/dev/null) || return 1
  cp "$dir"/kube-apiserver "$dir"/etcd "$dir"/kubectl "$out"/
}

wrapper() { # wrapper DIR MODULE VERSION: a module that requires MODULE and carries its replaces
  local dir=$1 mod=$2 ver=$3 gomod
  mkdir -p "$dir"
  gomod=$(cd "$dir" && GOFLAGS=-mod=mod go mod download -json "$mod@$ver" | sed -n 's/^[[:space:]]*"GoMod": "\(.*\)",*$/\1/p')
  {
    printf 'module offramp.dev/assets\n\ngo 1.26.0\n\nrequire %s %s\n' "$mod" "$ver"
    # Kubernetes publishes its staging modules with the same minor and patch as the release.
    [ "$mod" != k8s.io/kubernetes ] ||
      sed -n "s#^[[:space:]]*\(k8s.io/[a-z-]*\) => ./staging/.*#replace \1 => \1 v0.${ver#v1.}#p" "$gomod"
  } >"$dir/go.mod"
}

build() { # build DIR PACKAGE OUTPUT LDFLAGS
  local dir=$1 pkg=$2 bin=$3 flags=$4
  printf '//go:build tools\n\npackage assets\n\nimport _ "%s"\n' "$pkg" >"$dir/tools.go"
  (cd "$dir" && go mod tidy -e >tidy.log 2>&1 || true)
  say "building $(basename "$bin") from $pkg (many minutes when cold)"
  (cd "$dir" && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w $flags" -o "$bin.partial" "$pkg") && mv "$bin.partial" "$bin"
}

if ! download; then
  say "no download possible: building Kubernetes $KUBERNETES_VERSION and etcd $ETCD_VERSION from their modules into $out"
  work=$cache/assets-work/$key
  wrapper "$work/etcd" go.etcd.io/etcd/server/v3 "$ETCD_VERSION"
  [ -x "$out/etcd" ] || build "$work/etcd" go.etcd.io/etcd/server/v3 "$out/etcd" ""
  v=k8s.io/component-base/version
  minor=${KUBERNETES_VERSION#v1.}
  flags="-X $v.gitVersion=$KUBERNETES_VERSION -X $v.gitMajor=1 -X $v.gitMinor=${minor%%.*} -X $v.gitTreeState=clean"
  wrapper "$work/kubernetes" k8s.io/kubernetes "$KUBERNETES_VERSION"
  for p in kube-apiserver kubectl; do
    [ -x "$out/$p" ] || build "$work/kubernetes" "k8s.io/kubernetes/cmd/$p" "$out/$p" "$flags"
  done
fi
complete "$out" || { say "the folder $out is still incomplete: see the messages above"; exit 1; }
echo "$out"
