# Offramp. `make help` lists what there is.
SHELL := /usr/bin/env bash -o pipefail
.SHELLFLAGS := -ec

IMAGE ?= ghcr.io/offramp-dev/offramp
VERSION ?= 0.1.0
GOARCH ?= $(shell go env GOARCH)

.DEFAULT_GOAL := help

##@ General

.PHONY: help
help: ## Show this list.
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Write

.PHONY: generate
generate: ## Write deepcopy, CRDs and the generated parts of docs.
	hack/generate.sh

.PHONY: manifests
manifests: generate ## Render config/default to dist/offramp.yaml.
	@mkdir -p dist
	hack/render.sh > dist/offramp.yaml
	@echo "dist/offramp.yaml: $$(grep -c '^kind:' dist/offramp.yaml) objects"

.PHONY: docs
docs: ## Write the generated parts of docs.
	go run ./hack/gendocs

.PHONY: fmt
fmt: ## Format the Go files.
	find . -name '*.go' -not -name 'zz_generated*' -not -path './bin/*' | xargs "$$(hack/tool.sh gofumpt)" -w

##@ Check

.PHONY: lint
lint: ## Run golangci-lint, pinned and built from source.
	hack/lint.sh

.PHONY: verify
verify: ## Regenerate everything; fail if anything was out of date.
	hack/verify.sh

.PHONY: test
test: ## Run every ring, cheap ones first: the last is the stories on a real kind cluster.
	hack/test.sh

.PHONY: check
check: ## Run every ring that needs no cluster.
	hack/test.sh unit guard walk sim fuzz agent lint verify dns api

.PHONY: test-unit
test-unit: ## Unit tests, golden pairs and fuzz seeds, with the race detector; the CEL of guard and CRDs.
	hack/test.sh unit guard

.PHONY: test-walk
test-walk: ## The random walk of the gate table (OFFRAMP_WALK_RUNS, default 20000).
	hack/test.sh walk

.PHONY: test-fuzz-seeds
test-fuzz-seeds: ## The seeds of all fuzz targets.
	hack/test.sh fuzz-seeds

.PHONY: test-fuzz
test-fuzz: ## What reads manifests and what judges them, fuzzed side by side (OFFRAMP_FUZZ_TIME, default 60s each).
	hack/test.sh fuzz

.PHONY: test-sim
test-sim: ## Whole migrations in the embedded world.
	hack/test.sh sim

.PHONY: test-agent
test-agent: ## The node agent in network namespaces, against real nftables and conntrack (root).
	hack/test.sh agent

.PHONY: test-dns
test-dns: ## BIND 9, Knot, PowerDNS and unbound, walked forward, back and through their faults.
	hack/test.sh dns

.PHONY: test-api
test-api: ## A real kube-apiserver, etcd and BIND 9 (built and cached where they cannot be downloaded).
	hack/test.sh api

.PHONY: e2e
e2e: ## Stories 1 to 5, 7 and the killed leader on a real kind cluster, made for them and deleted after (KUBE_PROXY_MODE, KUBERNETES_VERSION).
	hack/test.sh e2e

.PHONY: e2e-full
e2e-full: ## Every story, the faults too, in both proxy modes.
	hack/test.sh e2e-nftables e2e-iptables

.PHONY: e2e-up
e2e-up: ## Create the cluster and leave it up; then: source bin/e2e/env.
	hack/kind/cluster.sh up

.PHONY: e2e-load
e2e-load: ## Build this tree's programs again and restart them in the cluster.
	hack/kind/cluster.sh load

.PHONY: e2e-run
e2e-run: ## Run stories on the cluster that is up, for example STORY=TestWalks/story_4.
	@test -s bin/e2e/env || { echo "make e2e-run: no cluster is up: run make e2e-up first" >&2; exit 1; }
	source bin/e2e/env && go test -tags e2e -count=1 -v -parallel 8 -timeout "$${OFFRAMP_E2E_TIMEOUT:-60m}" -run '$(or $(STORY),Test)' ./e2e/stories

.PHONY: e2e-down
e2e-down: ## Delete the cluster, its hosts and its network, and stop the engine if we started it.
	hack/kind/cluster.sh down

.PHONY: bench
bench: ## Run the benchmarks once each.
	go test -run '^$$' -bench . -benchmem ./...

.PHONY: bench-inventory
bench-inventory: ## The inventory of 50,000 Services against jq on the same file: time and memory.
	hack/bench-inventory.sh

##@ Build

.PHONY: build
build: ## Build the three programs to bin/.
	@mkdir -p bin
	CGO_ENABLED=0 go build -trimpath -o bin/ ./cmd/...

.PHONY: demo
demo: ## Rehearse the bundled cluster in the embedded world: no network, no root, no Docker.
	@mkdir -p bin
	@CGO_ENABLED=0 go build -trimpath -o bin/kubectl-offramp ./cmd/kubectl-offramp
	@bin/kubectl-offramp rehearse --demo

.PHONY: images
images: ## Build the one image with the three programs (needs Docker).
	@docker version >/dev/null 2>&1 || { echo "make images: no Docker daemon answers: install and start Docker, or run make build for the programs alone" >&2; exit 1; }
	@mkdir -p bin/image
	CGO_ENABLED=0 GOOS=linux GOARCH=$(GOARCH) go build -trimpath -ldflags '-s -w' -o bin/image/ ./cmd/...
	docker build --target prebuilt -t $(IMAGE):$(VERSION) .

.PHONY: clean
clean: ## Remove what was built here (the cache of tools and servers stays).
	rm -rf bin dist
