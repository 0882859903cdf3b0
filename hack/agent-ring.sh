#!/usr/bin/env bash
# Runs the tests of the node agent that need a kernel: in a network namespace of their own, which ends with them. Needs
# root, conntrack, nft and ip to compare with, and python3 to put a program on a device.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH=$PATH:/usr/sbin:/sbin
hack/need.sh conntrack conntrack
hack/need.sh nft nftables
hack/need.sh ip iproute2
hack/need.sh python3 python3
# -exec puts the test binary into the namespace and leaves the compiler, which may have to download, outside.
exec go test -json -count=1 -timeout 10m -tags netns -run '^TestNode' -exec 'unshare --net' "$@" ./agent
