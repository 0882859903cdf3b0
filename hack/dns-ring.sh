#!/usr/bin/env bash
# The ring of the name servers: BIND 9, Knot DNS, PowerDNS and unbound, from Debian's packages, on the loopback. The tests
# run in a network namespace of their own where that is possible, so that nothing they do leaves the machine. Writes go
# test's JSON to stdout.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH=$PATH:/usr/sbin:/sbin
say() { printf 'dns-ring: %s\n' "$*" >&2; }

hack/need.sh named bind9
hack/need.sh nsupdate bind9-dnsutils
hack/need.sh knotd knot
hack/need.sh pdns_server pdns-server
hack/need.sh unbound unbound
hack/need.sh sqlite3 sqlite3
schema=/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql
[ -e $schema ] || { # a library, so need.sh cannot find it
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || { say "$schema is missing: install pdns-backend-sqlite3"; exit 1; }
  say "installing pdns-backend-sqlite3"
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends pdns-backend-sqlite3 >/dev/null
}

run=(go test -tags dns -p 1 -parallel 12 -json -count=1 -timeout "${OFFRAMP_DNS_TIMEOUT:-20m}" "$@" ./e2e/dns)
go test -tags dns -exec true ./e2e/dns >/dev/null # compiles, and downloads what it must, outside
if [ "$(id -u)" = 0 ] && hack/need.sh unshare util-linux && hack/need.sh ip iproute2 && unshare -n true 2>/dev/null; then
  say "running in a network namespace"
  exec unshare -n sh -c 'ip link set lo up && exec "$@"' sh "${run[@]}"
fi
say "no right to make a network namespace: running on this host's loopback"
exec "${run[@]}"
