#!/usr/bin/env bash
# Writes everything that is made from something else: deepcopy, CRDs, the tables in docs.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
gen=$(hack/tool.sh controller-gen)
"$gen" object crd:generateEmbeddedObjectMeta=false paths=./api/... \
  output:crd:artifacts:config=config/crd output:object:dir=api/v1alpha1
go run ./hack/gendocs
go test -count=1 ./migration -run '^TestDocsAreMadeOfTheTable$' -update >/dev/null
go test -count=1 ./inventory -run '^TestReasonsPageIsUpToDate$' -update >/dev/null
