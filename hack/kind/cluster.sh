#!/usr/bin/env bash
# cluster.sh up|new|load|down: the kind cluster of the end-to-end stories and the hosts beside it.
#   up    creates what is missing: engine, images, closed network, cluster, MetalLB, Traefik, Offramp, name servers, resolver
#   new   deletes what an earlier run left, then up
#   load  builds this tree's programs again and restarts what runs them
#   down  deletes the cluster, the hosts, the network and, where we started it, the engine (images stay cached)
# KUBE_PROXY_MODE=nftables|iptables, KUBERNETES_VERSION=v1.37.2. State for the stories: bin/e2e.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
# shellcheck source=../assets/versions
source hack/assets/versions
# shellcheck source=versions
source hack/kind/versions
PATH=$PATH:/usr/sbin:/sbin
export KUBE_PROXY_MODE=${KUBE_PROXY_MODE:-nftables}
name=offramp-e2e
bridge=br-offramp-e2e
state=$root/bin/e2e
export KUBECONFIG=$state/kubeconfig
export KIND_EXPERIMENTAL_DOCKER_NETWORK=$name
hosts=offramp.test/hosts:$DEBIAN_SUITE
programs=offramp.test/programs:e2e

say() { printf 'cluster: %s\n' "$*" >&2; }
nodes() { docker ps --filter "label=io.x-k8s.kind.cluster=$name" --format '{{.Names}}'; }
timed() { local from=$SECONDS; "$@"; say "$1: $((SECONDS - from)) s"; }

kube() { "$kubectl" "$@"; }

tools() {
  case $KUBE_PROXY_MODE in nftables | iptables) ;; *) say "KUBE_PROXY_MODE=$KUBE_PROXY_MODE: nftables or iptables"; exit 1 ;; esac
  mkdir -p "$state"
  DOCKER_HOST=$(hack/kind/engine.sh start)
  export DOCKER_HOST
  kubectl=$(hack/assets/build.sh)/kubectl
  kind=$(hack/kind/components.sh kind)/kind
}

# The network is the cluster's layer 2. Its addresses are documentation addresses (RFC 5737), and nothing leaves it.
network() {
  docker network inspect "$name" >/dev/null 2>&1 || docker network create -o com.docker.network.bridge.name=$bridge \
    -o com.docker.network.bridge.enable_ip_masquerade=false --subnet 198.51.100.0/24 --ip-range 198.51.100.0/27 "$name" >/dev/null
  [ -e /sys/class/net/$bridge ] || {
    say "the engine at $DOCKER_HOST does not run in this host's network (remote, rootless or in a virtual machine): the stories speak to their clients over its bridge. Set DOCKER_HOST to an engine that does."
    exit 1
  }
  firewall -C 2>/dev/null || firewall -I || { say "the network cannot be closed: the engine's firewall has no chain DOCKER-USER (dockerd --iptables=false?)"; exit 1; }
}

# firewall -C|-I|-D: drop what would leave the network. The node image has iptables, for who may use the engine but is not root.
firewall() {
  local rule=(-w 10 "$1" DOCKER-USER -i "$bridge" ! -o "$bridge" -j DROP)
  if [ "$(id -u)" = 0 ]; then
    iptables "${rule[@]}"
  else
    docker run --rm --privileged --network host --entrypoint iptables "$(cat "$state/node-image")" "${rule[@]}"
  fi
}

lacks_resource() { local set; set=$(sed -n 's/^CapBnd:[[:space:]]*//p' /proc/self/status); (((0x$set >> 24 & 1) == 0)); }

config() { # the kind configuration; where CAP_SYS_RESOURCE is missing, nobody may ask for it inside the nodes either
  local kubelet='' containerd=''
  if lacks_resource; then
    kubelet='  featureGates: { KubeletInUserNamespace: true }'
    containerd=$'containerdConfigPatches:\n- |-\n  [plugins."io.containerd.grpc.v1.cri"]\n    restrict_oom_score_adj = true'
  fi
  awk -v mode="$KUBE_PROXY_MODE" -v audit="$root/e2e/manifests/audit" -v kubelet="$kubelet" -v containerd="$containerd" \
    '{ sub(/@KUBE_PROXY_MODE@/, mode); sub(/@AUDIT@/, audit) } /^@KUBELET@/ { if (kubelet != "") print kubelet; next } /^@CONTAINERD@/ { if (containerd != "") print containerd; next } { print }' e2e/manifests/kind.yaml
}

# reachable says whether the nodes that are there were made from this tree's configuration, run, and answer.
reachable() { cmp -s "$state/wanted.yaml" "$state/kind.yaml" && [ -s "$KUBECONFIG" ] && kube get --raw /readyz --request-timeout=10s >/dev/null 2>&1; }

create() {
  { config; echo "# $1"; } >"$state/wanted.yaml"
  if [ -n "$(docker ps -aq --filter "label=io.x-k8s.kind.cluster=$name")" ]; then
    reachable && return
    say "deleting cluster $name: it has another version or proxy mode, is another checkout's, or was stopped since"
    remove
  fi
  mv "$state/wanted.yaml" "$state/kind.yaml"
  "$kind" create cluster --name "$name" --image "$1" --config "$state/kind.yaml" --kubeconfig "$KUBECONFIG" >&2
}

# A point-to-point CNI and a route to every other node's Pods: the least that is a real Pod network. Packets between Pods
# keep their source; what leaves the Pod network takes the node's.
pods() {
  local node other cidr address
  for node in $(nodes); do
    cidr=$(kube get node "$node" -o jsonpath='{.spec.podCIDR}')
    docker exec -i "$node" sh -c 'mkdir -p /etc/cni/net.d && cat >/etc/cni/net.d/10-ptp.conflist' <<JSON
{"cniVersion": "0.4.0", "name": "ptp", "plugins": [
  {"type": "ptp", "ipMasq": false, "ipam": {"type": "host-local", "ranges": [[{"subnet": "$cidr"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
JSON
    docker exec "$node" sh -c 'iptables -w 10 -t nat -C POSTROUTING -s 10.244.0.0/16 ! -d 10.244.0.0/16 -j MASQUERADE 2>/dev/null || iptables -w 10 -t nat -A POSTROUTING -s 10.244.0.0/16 ! -d 10.244.0.0/16 -j MASQUERADE'
    address=$(kube get node "$node" -o jsonpath='{.status.addresses[?(@.type=="InternalIP")].address}')
    for other in $(nodes); do
      [ "$other" = "$node" ] || docker exec "$other" ip route replace "$cidr" via "$address"
    done
  done
  kube wait --for=condition=Ready nodes --all --timeout=180s >&2
}

build_programs() { # this tree's programs as two images, and into every node
  mkdir -p bin/image bin/e2e/image
  CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bin/image/ ./cmd/...
  CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bin/e2e/image/ ./e2e/programs/...
  DOCKER_BUILDKIT=0 docker build -q --network none --target prebuilt -t ghcr.io/offramp-dev/offramp:0.1.0 . >/dev/null
  printf 'FROM scratch\nCOPY . /\n' >bin/e2e/image/Dockerfile
  DOCKER_BUILDKIT=0 docker build -q --network none -t $programs bin/e2e/image >/dev/null
  "$kind" load docker-image --name "$name" ghcr.io/offramp-dev/offramp:0.1.0 $programs >&2
}

published() { # where the node image came from a registry, the others go into the nodes too
  case $1 in kindest/*) "$kind" load docker-image --name "$name" "quay.io/metallb/controller:$METALLB_VERSION" "quay.io/metallb/speaker:$METALLB_VERSION" "docker.io/library/traefik:$TRAEFIK_VERSION" >&2 ;; esac
}

module() { go list -m -f '{{.Dir}}' "$1"; }

retry() { # an admission webhook that has just started refuses at first
  local n
  for n in $(seq 30); do "$@" >"$state/retry.log" 2>&1 && return; sleep 2; done
  cat "$state/retry.log" >&2
  say "still failing after $n tries: $*"
  return 1
}

parts() {
  kube apply --server-side -k "$(module sigs.k8s.io/gateway-api)/config/crd/experimental" >/dev/null
  kube apply --server-side -f "$(module go.universe.tf/metallb)/config/manifests/metallb-native.yaml" >/dev/null
  sed "s/@TRAEFIK_VERSION@/$TRAEFIK_VERSION/" e2e/manifests/traefik.yaml | kube apply --server-side -f - >/dev/null
  kube -n metallb-system rollout status deployment/controller --timeout=180s >&2
  kube -n metallb-system rollout status daemonset/speaker --timeout=180s >&2
  retry kube apply --server-side -f e2e/manifests/pools.yaml
  kube -n gateways rollout status deployment/traefik --timeout=180s >&2
}

offramp() {
  kube kustomize e2e/manifests/offramp >"$state/offramp.yaml"
  retry kube apply --server-side -f "$state/offramp.yaml"
  kube create namespace shop --dry-run=client -o yaml | kube apply --server-side -f - >/dev/null
  retry kube apply --server-side -f e2e/manifests/zone.yaml
  kube apply --server-side -f e2e/gatewaydouble/deploy.yaml >/dev/null
  kube -n gateways rollout status deployment/gatewaydouble --timeout=180s >&2
  kube -n offramp-system rollout status deployment/offramp-controller --timeout=180s >&2
  kube -n offramp-agent rollout status daemonset/offramp-agent --timeout=180s >&2
}

host() { # host NAME ADDRESS COMMAND: a container beside the cluster, with no way out of the network
  runs "$1" && return
  docker run -d --name "$1" --label "$name" --hostname "${1#"$name"-}" --network "$name" --ip "$2" --cap-add NET_ADMIN \
    -v "$root/e2e/manifests/names:/names:ro" "$hosts" sh -c "ip route del default; $3" >/dev/null
}

runs() { [ "$(docker inspect -f '{{.State.Status}}' "$1" 2>/dev/null)" = running ]; }

names() {
  local h bind='rndc-confgen -a -c /run/rndc.key >/dev/null 2>&1; exec named -g -u root -c'
  for h in primary secondary resolver; do # all or none: a new primary would begin below the secondary's serial
    runs "$name-$h" || { docker rm -f "$name"-{primary,secondary,resolver} >/dev/null 2>&1 || true; }
  done
  host "$name-primary" 198.51.100.53 "cp /names/example.test.zone /var/cache/bind/; $bind /names/primary.conf"
  host "$name-secondary" 198.51.100.54 "$bind /names/secondary.conf"
  host "$name-resolver" 198.51.100.55 "exec unbound -d -c /names/unbound.conf"
  retry answered 198.51.100.53
  retry answered 198.51.100.54
  retry answered 198.51.100.55
}

answered() { docker exec "$name-resolver" dig +short +tries=1 +time=2 "@$1" example.test NS | grep -F ns2.example.test; }

restart() { # apply what this tree says, and start anew what runs the programs, for the image's name stays the same
  offramp
  kube -n offramp-system rollout restart deployment/offramp-controller >/dev/null
  kube -n offramp-agent rollout restart daemonset/offramp-agent >/dev/null
  kube -n gateways rollout restart deployment/gatewaydouble >/dev/null
  offramp
}

environment() { # what the stories read
  cat >"$state/env" <<ENV
export DOCKER_HOST=$DOCKER_HOST
export KUBECONFIG=$KUBECONFIG
export PATH=$(dirname "$kubectl"):\$PATH
export KUBE_PROXY_MODE=$KUBE_PROXY_MODE
export OFFRAMP_E2E_DEBIAN=$DEBIAN_SUITE
ENV
}

up() {
  local image
  tools
  image=$(hack/kind/images.sh)
  echo "$image" >"$state/node-image"
  network
  timed create "$image"
  environment
  timed pods
  published "$image"
  timed build_programs
  timed names
  timed parts
  timed offramp
  say "up: $(kube version -o json | sed -n 's/.*"gitVersion": "\(.*\)".*/\1/p' | tail -1), kube-proxy $KUBE_PROXY_MODE. source bin/e2e/env"
}

# remove deletes the cluster as kind does, and the hosts beside it: by their labels, with nothing that has to be built first.
remove() {
  { docker ps -aq --filter "label=io.x-k8s.kind.cluster=$name"; docker ps -aq --filter "label=$name"; } | sort -u | xargs -r docker rm -f -v >/dev/null
  rm -f "$KUBECONFIG"
}

new() {
  tools
  remove
  up
}

load() {
  tools
  timed build_programs
  restart
}

# down builds and starts nothing: it has to work after an up that failed anywhere.
down() {
  if DOCKER_HOST=$(hack/kind/engine.sh find); then
    export DOCKER_HOST
    remove
    if docker network inspect "$name" >/dev/null 2>&1; then
      firewall -D 2>/dev/null || true
      docker network rm "$name" >/dev/null
    fi
  fi
  rm -rf "$state"
  [ "${OFFRAMP_KEEP_ENGINE:-0}" = 1 ] || hack/kind/engine.sh stop
}

case ${1:-} in
  up) up ;;
  new) new ;;
  load) load ;;
  down) down ;;
  *) echo "usage: cluster.sh up|new|load|down" >&2; exit 1 ;;
esac
