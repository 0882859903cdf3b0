#!/usr/bin/env bash
# engine.sh find|start|stop. find prints the DOCKER_HOST of an engine that answers: the one that DOCKER_HOST names, our own
# where it runs, or the one in use. start does too, and where none answers and the user is root, starts one of our own with
# its images under the cache. stop ends our own engine and no other.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
PATH=$PATH:/usr/sbin:/sbin
cache=${OFFRAMP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/offramp}
run=/run/offramp-engine
ours=unix://$run/docker.sock

say() { printf 'engine: %s\n' "$*" >&2; }
answers() { DOCKER_HOST=$1 docker version >/dev/null 2>&1; }

# Capability 24 is CAP_SYS_RESOURCE. Where the bounding set lacks it, runc has to be spared from asking for it.
lacks_resource() { local set; set=$(sed -n 's/^CapBnd:[[:space:]]*//p' /proc/self/status); (((0x$set >> 24 & 1) == 0)); }

# Ours comes before the default: what we made in it is there, even if another engine was started since. The engine in use may
# be that of a docker context, which its socket's usual place does not tell.
running() {
  command -v docker >/dev/null || return 1
  if [ -z "${DOCKER_HOST:-}" ] && answers "$ours"; then
    echo "$ours"
  elif docker version >/dev/null 2>&1; then
    echo "${DOCKER_HOST:-$(docker context inspect --format '{{.Endpoints.docker.Host}}')}"
  elif answers "$ours"; then
    echo "$ours"
  else
    return 1
  fi
}

start() {
  running && return
  if [ "$(id -u)" != 0 ]; then
    say "no Docker engine answers (docker version). Start one that you may use (is DOCKER_HOST right?), or run this as root to have one started from Debian's docker.io."
    exit 1
  fi
  hack/need.sh docker docker.io
  hack/need.sh dockerd docker.io
  hack/need.sh iptables iptables
  mkdir -p "$run" "$cache/engine" bin
  local flags=(--host "$ours" --data-root "$cache/engine" --exec-root "$run/exec" --pidfile "$run/docker.pid" --bridge none)
  if lacks_resource; then
    CGO_ENABLED=0 go build -trimpath -o "$run/runcwrap" ./hack/kind/runcwrap
    flags+=(--add-runtime "runcwrap=$run/runcwrap" --default-runtime runcwrap)
  fi
  say "starting a Docker engine at $ours (log: $run/docker.log)"
  setsid dockerd "${flags[@]}" >"$run/docker.log" 2>&1 </dev/null &
  for _ in $(seq 120); do
    answers "$ours" && { echo "$ours"; return; }
    grep -q 'failed to start daemon' "$run/docker.log" && break
    sleep 0.5
  done
  say "the engine does not answer; the end of $run/docker.log:"
  tail -20 "$run/docker.log" >&2
  exit 1
}

stop() {
  [ -s "$run/docker.pid" ] || return 0
  local pid
  pid=$(cat "$run/docker.pid")
  # Only the process that we started under this data root: a recycled number is somebody else's.
  grep -qz -- "$cache/engine" "/proc/$pid/cmdline" 2>/dev/null || return 0
  say "stopping our Docker engine ($pid)"
  kill "$pid"
  for _ in $(seq 60); do
    [ -d "/proc/$pid" ] || return 0
    sleep 0.5
  done
  say "the engine ($pid) did not stop in 30 s"
  exit 1
}

case ${1:-} in
  find) running ;;
  start) start ;;
  stop) stop ;;
  *) echo "usage: engine.sh find|start|stop" >&2; exit 1 ;;
esac
