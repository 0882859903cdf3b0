#!/usr/bin/env bash
# components.sh NAME...: builds programs of other projects from their Go modules and prints one folder for each.
# Names: kubernetes kind containerd cri-tools cni metallb traefik.
# A folder is named by what it is made of, so that a second run builds nothing.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../assets/versions
source "$here/../assets/versions"
# shellcheck source=versions
source "$here/versions"
# shellcheck source=../assets/module.sh
source "$here/../assets/module.sh"
cache=${OFFRAMP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/offramp}
work=$cache/components-work

say() { printf 'components: %s\n' "$*" >&2; }

folder() { # folder NAME WHAT: where the programs of NAME go, given a line that says what they are made of
  printf '%s/components/%s-%s-%s\n' "$cache" "$1" "$({ echo "$2"; cat "$here/../assets/module.sh"; declare -f "make_${1//-/_}"; } | sha256sum | cut -c1-16)" "$(goversion)"
}

programs() { # programs OUT MODULE VERSION LDFLAGS PACKAGE...: builds each package of a module that needs no replaces
  local out=$1 mod=$2 ver=$3 flags=$4 dir=$work/${1##*/} pkg
  shift 4
  wrapper "$dir" "$mod" "$ver"
  imports "$dir" "$@"
  for pkg; do build "$dir" "$pkg" "$out/$(basename "$pkg")" "$flags"; done
}

make_kubernetes() {
  local p=k8s.io/kubernetes/cmd
  programs "$1" k8s.io/kubernetes "$KUBERNETES_VERSION" "$(kubernetes_flags "$KUBERNETES_VERSION")" \
    $p/kube-controller-manager $p/kube-scheduler $p/kube-proxy $p/kubelet $p/kubeadm
}

make_kind() { programs "$1" sigs.k8s.io/kind "$KIND_VERSION" "" sigs.k8s.io/kind; }

make_containerd() {
  local p=github.com/containerd/containerd/v2/cmd
  programs "$1" github.com/containerd/containerd/v2 "$CONTAINERD_VERSION" "" $p/containerd $p/containerd-shim-runc-v2 $p/ctr
}

make_cri_tools() { programs "$1" sigs.k8s.io/cri-tools "$CRI_TOOLS_VERSION" "" sigs.k8s.io/cri-tools/cmd/crictl; }

make_cni() {
  local p=github.com/containernetworking/plugins/plugins
  programs "$1" github.com/containernetworking/plugins "$CNI_PLUGINS_VERSION" "" $p/ipam/host-local $p/main/loopback $p/main/ptp $p/meta/portmap
}

copy() { # copy MODULE VERSION DIR: a writable copy of a published module
  rm -rf "$3"
  mkdir -p "$work"
  cp -r "$(module_file "$work" "$1" "$2" Dir)" "$3"
  chmod -R u+w "$3"
}

# MetalLB's main packages are reachable only from inside its module, and the frr-k8s that it requires is not served by
# every proxy: an older one is given the one type and field that it lacks. Native BGP and layer 2 do not use either.
make_metallb() {
  local dir=$work/metallb frr=$work/frr-k8s types
  copy go.universe.tf/metallb "$METALLB_VERSION" "$dir"
  copy github.com/metallb/frr-k8s "$FRR_K8S_VERSION" "$frr"
  types=$frr/api/v1beta1/frrconfiguration_types.go
  # shellcheck disable=SC2016 # Go's struct tags
  sed -i 's/^type Advertise struct {/&\n\tPrefixesWithAsPathPrepend []AsPathPrependPrefixes `json:"withAsPathPrepend,omitempty"`\n/' "$types"
  cat >>"$types" <<'GO'

type AsPathPrependPrefixes struct {
	AsPathPrepend uint8    `json:"asPathPrepend,omitempty"`
	Prefixes      []string `json:"prefixes,omitempty"`
}
GO
  printf '\nreplace github.com/metallb/frr-k8s => %s\n' "$frr" >>"$dir/go.mod"
  for pkg in controller speaker; do
    GOFLAGS=-mod=mod GOTOOLCHAIN=local build "$dir" "./$pkg" "$1/$pkg" ""
  done
}

# Traefik carries replaces of its own; its list of ACME DNS providers needs modules that not every proxy serves, and
# no ACME is used here: a copy of lego with no DNS provider stands in.
make_traefik() {
  local dir=$work/traefik lego=$work/lego ext=$work/ext mod
  copy github.com/go-acme/lego/v5 v5.4.1 "$lego"
  rm -rf "$lego"/{providers/dns,cmd,e2e,main.go}
  mkdir -p "$lego/providers/dns" "$ext" "$dir"
  cat >"$lego/providers/dns/dns.go" <<'GO'
// Package dns knows no provider.
package dns

import (
	"fmt"

	"github.com/go-acme/lego/v5/challenge"
)

// NewDNSChallengeProviderByName refuses every name.
func NewDNSChallengeProviderByName(name string) (challenge.Provider, error) {
	return nil, fmt.Errorf("no DNS provider %q in this build", name)
}
GO
  printf 'module github.com/go-acme/lego/v5\n\ngo 1.26.0\n' >"$lego/go.mod"
  printf 'module github.com/traefik/traefik/dynamic/ext\n\ngo 1.26.0\n' >"$ext/go.mod"
  printf 'package ext\n\ntype HTTP struct{}\n\ntype Router struct{}\n' >"$ext/ext.go"
  mod=$(module_file "$dir" github.com/traefik/traefik/v3 "$TRAEFIK_VERSION" GoMod)
  {
    printf 'module offramp.dev/assets\n\ngo 1.26.0\n\nrequire github.com/traefik/traefik/v3 %s\n\n' "$TRAEFIK_VERSION"
    # What Traefik requires directly is pinned here too: with lego's own requirements gone, tidy would look for newer ones.
    sed -n '/^require (/,/^)/p' "$mod" | grep -v -e traefik/dynamic/ext -e 'go-acme/lego/v4'
    grep '^exclude' "$mod"
    sed -n 's#^[[:space:]]*github.com/gorilla/mux => #replace github.com/gorilla/mux => #p' "$mod"
    echo "replace github.com/abbot/go-http-auth => github.com/containous/go-http-auth v0.4.1-0.20200324110947-a37a7636d23e"
    echo "replace github.com/go-acme/lego/v5 => $lego"
    echo "replace github.com/traefik/traefik/dynamic/ext => $ext"
  } >"$dir/go.mod"
  imports "$dir" github.com/traefik/traefik/v3/cmd/traefik
  build "$dir" github.com/traefik/traefik/v3/cmd/traefik "$1/traefik" "-X github.com/traefik/traefik/v3/pkg/version.Version=${TRAEFIK_VERSION#v}"
}

version_of() {
  case $1 in
    kubernetes) echo "$KUBERNETES_VERSION" ;;
    kind) echo "$KIND_VERSION" ;;
    containerd) echo "$CONTAINERD_VERSION" ;;
    cri-tools) echo "$CRI_TOOLS_VERSION" ;;
    cni) echo "$CNI_PLUGINS_VERSION" ;;
    metallb) echo "$METALLB_VERSION $FRR_K8S_VERSION" ;;
    traefik) echo "$TRAEFIK_VERSION" ;;
    *) say "no component '$1': kubernetes, kind, containerd, cri-tools, cni, metallb, traefik"; return 1 ;;
  esac
}

for name; do
  version=$(version_of "$name")
  out=$(folder "$name" "$version")
  if [ ! -e "$out/complete" ]; then
    "make_${name//-/_}" "$out"
    : >"$out/complete"
  fi
  echo "$out"
done
