#!/usr/bin/env bash
# bench-inventory.sh [ROUNDS]: the inventory of 50,000 Services (2,000 with the field) from one JSON file, against jq
# selecting those 2,000 from the same file. Each round runs both, one after the other, so that a busy machine slows both.
# Two files: as kubectl prints a list, and compact with managedFields as the API server stores it.
# Fails if the faster run of the inventory is slower than the faster one of jq, or needs more than 300 MiB.
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=${1:-5} services=${SERVICES:-50000} limit=$((300 * 1024))
hack/need.sh jq jq
[ -x /usr/bin/time ] || { echo "bench-inventory.sh: /usr/bin/time is missing: install the Debian package time" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ -z "${PLUGIN:-}" ]; then
  PLUGIN=$work/kubectl-offramp
  CGO_ENABLED=0 go build -trimpath -o "$PLUGIN" ./cmd/kubectl-offramp
fi

# Every 25th Service carries the field; all have cluster IPs, ports, and what kubectl applied last.
# shellcheck disable=SC2016
generate='
def service: . as $i
  | {ports: [{name: "http", port: 80, protocol: "TCP", targetPort: 8080}, {name: "https", port: 443, protocol: "TCP", targetPort: 8443}],
     selector: {"app.kubernetes.io/name": "app-\($i)", "app.kubernetes.io/instance": "production"}} as $spec
  | (if $i % 25 == 0 then {externalIPs: ["198.18.\($i / 6400 | floor).\($i / 25 % 256)"]} else {} end) as $field
  | {apiVersion: "v1", kind: "Service",
     metadata: {
       annotations: {"kubectl.kubernetes.io/last-applied-configuration": ({apiVersion: "v1", kind: "Service", metadata: {name: "app-\($i)"}, spec: ($spec + $field)} | tojson)},
       creationTimestamp: "2024-01-01T00:00:00Z", labels: {"app.kubernetes.io/name": "app-\($i)", "app.kubernetes.io/managed-by": "Helm", team: "team-\($i % 40)"},
       managedFields: [{apiVersion: "v1", fieldsType: "FieldsV1", manager: "kubectl-client-side-apply", operation: "Update", time: "2024-01-01T00:00:00Z",
         fieldsV1: {"f:metadata": {"f:annotations": {".": {}, "f:kubectl.kubernetes.io/last-applied-configuration": {}}, "f:labels": {".": {}, "f:team": {}}},
           "f:spec": {"f:internalTrafficPolicy": {}, "f:ports": {".": {}, "k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}, "f:protocol": {}, "f:targetPort": {}}}, "f:selector": {}, "f:sessionAffinity": {}, "f:type": {}}}}],
       name: "app-\($i)", namespace: "team-\($i % 40)", resourceVersion: "\(1000 + $i)", uid: "00000000-0000-4000-8000-\(100000000000 + $i)"},
     spec: ($spec + $field + {clusterIP: "10.96.\($i / 256 | floor).\($i % 256)", clusterIPs: ["10.96.\($i / 256 | floor).\($i % 256)"],
       internalTrafficPolicy: "Cluster", ipFamilies: ["IPv4"], ipFamilyPolicy: "SingleStack", sessionAffinity: "None", type: "ClusterIP"}),
     status: {loadBalancer: {}}};
{apiVersion: "v1", items: [range($n) | service], kind: "List", metadata: {resourceVersion: ""}}'
jq -n -c --argjson n "$services" "$generate" > "$work/compact.json"
jq --indent 4 'del(.items[].metadata.managedFields)' "$work/compact.json" > "$work/kubectl.json"

# run NAME COMMAND...: appends seconds and KiB to NAME; 2 is the plugin's answer that something depends on the field.
run() {
  local name=$1 code=0
  shift
  /usr/bin/time -q -o "$work/one" -f '%e %M' "$@" > "$work/out" 2> /dev/null || code=$?
  [ "$code" = 0 ] || [ "$code" = 2 ] || { echo "bench-inventory.sh: $* ended with $code" >&2; exit 1; }
  tail -n 1 "$work/one" >> "$work/$name"
}

least() { sort -n "$1" | head -n 1 | cut -d ' ' -f 1; }
middle() { sort -n "$1" | awk '{ t[NR] = $1 } END { print t[int((NR + 1) / 2)] }'; }

failed=0
for file in kubectl compact; do
  for _ in $(seq "$rounds"); do
    run "$file.jq" jq -c '.items[]|select(.spec.externalIPs)' "$work/$file.json"
    found=$(wc -l < "$work/out")
    run "$file.inventory" "$PLUGIN" inventory -f "$work/$file.json" -o json
    answered=$(jq .summary.withExternalIPs "$work/out")
    [ "$found" = "$answered" ] || { echo "bench-inventory.sh: jq found $found Services and the inventory $answered" >&2; exit 1; }
  done
  jq=$(least "$work/$file.jq") own=$(least "$work/$file.inventory")
  rss=$(cut -d ' ' -f 2 "$work/$file.inventory" | sort -n | tail -n 1)
  ratio=$(awk -v a="$own" -v b="$jq" 'BEGIN { printf "%.2f", a / b }')
  printf '%-8s %4d MiB, %d of %d Services: jq %s s (median %s), inventory %s s (median %s), ratio %s, at most %d MiB\n' "$file" \
    "$(($(stat -c %s "$work/$file.json") >> 20))" "$answered" "$services" "$jq" "$(middle "$work/$file.jq")" "$own" "$(middle "$work/$file.inventory")" \
    "$ratio" "$((rss >> 10))"
  awk -v r="$ratio" 'BEGIN { exit r > 1 }' || failed=1
  [ "$rss" -le "$limit" ] || failed=1
done
[ "$failed" = 0 ] || echo "bench-inventory.sh: slower than jq, or over 300 MiB" >&2
exit "$failed"
