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
# shellcheck source=module.sh
source "$here/module.sh"
cache=${OFFRAMP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/offramp}

say() { printf 'assets: %s\n' "$*" >&2; }

complete() { [ -x "$1/kube-apiserver" ] && [ -x "$1/etcd" ] && [ -x "$1/kubectl" ]; }

if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
  complete "$KUBEBUILDER_ASSETS" || { say "KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS lacks kube-apiserver, etcd or kubectl; unset it to have them built"; exit 1; }
  echo "$KUBEBUILDER_ASSETS"
  exit 0
fi

key=$({ echo "$KUBERNETES_VERSION $ETCD_VERSION"; cat "$here/versions" "$here/module.sh" "$here/build.sh"; } | sha256sum | cut -c1-16)-$(goversion)
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

if ! download; then
  say "no download possible: building Kubernetes $KUBERNETES_VERSION and etcd $ETCD_VERSION from their modules into $out"
  work=$cache/assets-work/$key
  wrapper "$work/etcd" go.etcd.io/etcd/server/v3 "$ETCD_VERSION"
  imports "$work/etcd" go.etcd.io/etcd/server/v3
  build "$work/etcd" go.etcd.io/etcd/server/v3 "$out/etcd" ""
  wrapper "$work/kubernetes" k8s.io/kubernetes "$KUBERNETES_VERSION"
  imports "$work/kubernetes" k8s.io/kubernetes/cmd/kube-apiserver k8s.io/kubernetes/cmd/kubectl
  for p in kube-apiserver kubectl; do
    build "$work/kubernetes" "k8s.io/kubernetes/cmd/$p" "$out/$p" "$(kubernetes_flags "$KUBERNETES_VERSION")"
  done
fi
complete "$out" || { say "the folder $out is still incomplete: see the messages above"; exit 1; }
echo "$out"
