#!/usr/bin/env bash
# images.sh: makes sure that every image of the kind ring is in the engine at DOCKER_HOST, and prints the node image.
# Where a registry answers, kindest/node and the published images are pulled. Where none does, the same names are made from
# Debian packages and Go modules. Images carry the hash of what they are made of: a second run builds nothing.
# OFFRAMP_REGISTRY=0 skips the try to pull.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
# shellcheck source=../assets/versions
source "$here/../assets/versions"
# shellcheck source=versions
source "$here/versions"
# shellcheck source=../assets/module.sh
source "$here/../assets/module.sh"
cache=${OFFRAMP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/offramp}
PATH=$PATH:/usr/sbin:/sbin
export DOCKER_BUILDKIT=0 DOCKER_CLI_HINTS=false

node_packages=systemd,conntrack,iptables,nftables,iproute2,ethtool,util-linux,mount,kmod,libseccomp2,bash,ca-certificates,curl,jq,procps,runc
host_packages=bind9,bind9-utils,bind9-dnsutils,unbound,iproute2,procps,iputils-arping
metallb_images="quay.io/metallb/controller:$METALLB_VERSION quay.io/metallb/speaker:$METALLB_VERSION"
traefik_image=docker.io/library/traefik:$TRAEFIK_VERSION
hosts_image=offramp.test/hosts:$DEBIAN_SUITE

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

say() { printf 'images: %s\n' "$*" >&2; }
have() { docker image inspect "$1" >/dev/null 2>&1; }
hash_of() { sha256sum | cut -c1-12; }

pulled() { # the published images, where a registry answers
  [ "${OFFRAMP_REGISTRY:-1}" = 1 ] || return 1
  local image
  for image in "kindest/node:$KUBERNETES_VERSION" $metallb_images "$traefik_image" "debian:$DEBIAN_SUITE-slim"; do
    have "$image" || timeout 600 docker pull -q "$image" >/dev/null 2>&1 || return 1
  done
  have "$hosts_image" && return
  say "building $hosts_image"
  printf 'FROM debian:%s-slim\nRUN apt-get update -qq && apt-get install -y -qq --no-install-recommends %s\n' "$DEBIAN_SUITE" "${host_packages//,/ }" >"$scratch/Dockerfile"
  docker build -q -t "$hosts_image" "$scratch" >/dev/null
}

debian() { # debian NAME PACKAGES: a base image from Debian's packages; prints its reference
  local image tar
  image=offramp.test/$1:$(echo "$DEBIAN_SUITE $2" | hash_of)
  if ! have "$image"; then
    "$root/hack/need.sh" mmdebstrap mmdebstrap
    tar=$cache/debian/${image##*/}.tar
    mkdir -p "$(dirname "$tar")"
    if [ ! -s "$tar" ]; then
      say "making $image from Debian $DEBIAN_SUITE (a minute or two)"
      mmdebstrap --quiet --variant=minbase --include="$2" "$DEBIAN_SUITE" "$tar.partial.tar" >&2
      mv "$tar.partial.tar" "$tar"
    fi
    docker import "$tar" "$image" >/dev/null
  fi
  echo "$image"
}

single() { # single IMAGE BASE FILE PATH: an image of one program
  local dir=$scratch/single
  rm -rf "$dir"
  mkdir -p "$dir"
  cp "$3" "$dir/program"
  printf 'FROM %s\nCOPY program %s\nENTRYPOINT ["%s"]\n' "$2" "$4" "$4" >"$dir/Dockerfile"
  docker build -q --network none -t "$1" "$dir" >/dev/null
}

control_plane() { # control_plane BASE KUBERNETES ASSETS: the images that kubeadm asks for; prints their names
  local image name
  CGO_ENABLED=0 go build -C "$root" -trimpath -ldflags '-s -w' -o "$scratch/pause" ./hack/kind/pause
  for image in $("$2/kubeadm" config images list --kubernetes-version "$KUBERNETES_VERSION" 2>/dev/null); do
    name=${image##*/}
    name=${name%%:*}
    case $name in
      coredns) continue ;; # in-cluster names are not used
      pause) single "$image" scratch "$scratch/pause" /pause ;;
      etcd) single "$image" scratch "$3/etcd" /usr/local/bin/etcd ;;
      kube-apiserver) single "$image" scratch "$3/$name" "/usr/local/bin/$name" ;;
      kube-proxy) single "$image" "$1" "$2/$name" "/usr/local/bin/$name" ;;
      *) single "$image" scratch "$2/$name" "/usr/local/bin/$name" ;;
    esac
    echo "$image"
  done
}

sandbox_image() { # the pause image that the node's containerd is configured to use
  sed -n 's/^[[:space:]]*sandbox\(_image\)\? = "\(.*\)"/\2/p' "$1/etc/containerd/config.toml" | head -1
}

node_context() { # node_context BASE KUBERNETES ASSETS CONTAINERD CRI CNI FILES: a build context in $scratch/node
  local dir=$scratch/node
  mkdir -p "$dir/bin" "$dir/cni"
  cp -r "$7" "$dir/files"
  chmod -R u+w "$dir/files"
  cp "$2"/kube{let,adm} "$3/kubectl" "$4"/{containerd,containerd-shim-runc-v2,ctr} "$5/crictl" "$dir/bin/"
  cp "$6"/{host-local,loopback,ptp,portmap} "$dir/cni/"
  sed -e "s|@BASE@|$1|" -e "s|@KUBERNETES_VERSION@|$KUBERNETES_VERSION|" "$here/node.Dockerfile" >"$dir/Dockerfile"
}

preload() { # preload NODE IMAGE...: runs NODE's containerd once, imports the images and commits the result
  local node=$1 target=$2 c
  shift 2
  c=$(docker run -d --privileged --network none --entrypoint sleep "$node" infinity)
  docker exec -d "$c" containerd
  for _ in $(seq 60); do docker exec "$c" ctr version >/dev/null 2>&1 && break; sleep 0.5; done
  docker save "$@" | docker exec -i "$c" ctr -n k8s.io images import --all-platforms --no-unpack - >/dev/null
  docker exec "$c" sh -c 'pkill containerd; sleep 1; rm -f /run/containerd/*.sock'
  docker commit -c 'ENTRYPOINT ["/usr/local/bin/entrypoint","/sbin/init"]' "$c" "$target" >/dev/null
  docker rm -f "$c" >/dev/null
}

built() { # the same images from Debian packages and Go modules; prints the node image
  local kubernetes containerd cri cni metallb traefik assets files base hosts node images pause
  assets=$("$here/../assets/build.sh")
  kubernetes=$("$here/components.sh" kubernetes)
  containerd=$("$here/components.sh" containerd)
  cri=$("$here/components.sh" cri-tools)
  cni=$("$here/components.sh" cni)
  metallb=$("$here/components.sh" metallb)
  traefik=$("$here/components.sh" traefik)
  files=$(module_file "$scratch" sigs.k8s.io/kind "$KIND_VERSION" Dir)/images/base/files
  base=$(debian base "$node_packages")
  hosts=$(debian hosts "$host_packages")
  docker tag "$hosts" "$hosts_image"
  node=offramp.test/node:$KUBERNETES_VERSION-$({ echo "$assets $kubernetes $containerd $cri $cni $metallb $traefik $KIND_VERSION $base"; cat "$here/images.sh" "$here/node.Dockerfile" "$here"/pause/*.go; } | hash_of)
  if ! have "$node"; then
    say "building $node"
    images=$(control_plane "$base" "$kubernetes" "$assets")
    pause=$(sandbox_image "$files")
    [ -z "$pause" ] || { single "$pause" scratch "$scratch/pause" /pause; images+=" $pause"; }
    single "quay.io/metallb/controller:$METALLB_VERSION" scratch "$metallb/controller" /controller
    single "quay.io/metallb/speaker:$METALLB_VERSION" scratch "$metallb/speaker" /speaker
    single "$traefik_image" scratch "$traefik/traefik" /traefik
    node_context "$base" "$kubernetes" "$assets" "$containerd" "$cri" "$cni" "$files"
    docker build -q --network none -t "$node-empty" "$scratch/node" >/dev/null
    # shellcheck disable=SC2086 # names without spaces
    preload "$node-empty" "$node" $images $metallb_images "$traefik_image"
    docker rmi "$node-empty" >/dev/null
  fi
  echo "$node"
}

if pulled; then
  echo "kindest/node:$KUBERNETES_VERSION"
else
  built
fi
