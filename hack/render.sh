#!/usr/bin/env bash
# Renders a kustomization (default: config/default) to stdout.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
kubectl=$(command -v kubectl || true)
[ -n "$kubectl" ] || kubectl=$(hack/assets/build.sh)/kubectl
exec "$kubectl" kustomize "${1:-config/default}"
