# Copyright The Ordered Helm Authors
# SPDX-License-Identifier: Apache-2.0

SHELL         := bash
.SHELLFLAGS   := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS     += --no-print-directory

# A Go workspace around the checkout would mix the modules kept apart here.
export GOWORK := off

BIN     := $(CURDIR)/bin
TOOLS   := $(BIN)/tools
CLUSTER := $(CURDIR)/.devcluster
PREFIX  ?= /usr/local

# How many packages are built and tested side by side. An end-to-end package
# starts a control plane of its own, of about one GiB.
JOBS ?= 2

# What a test or a benchmark run may be narrowed to: make test-e2e RUN=TestShop
RUN   ?=
BENCH ?= .
# How long each fuzz target runs, and which of them.
FUZZTIME ?= 30s
FUZZ     ?=
# How many rounds of a benchmark count, and the binary of nelm, if it is to take part.
BENCH_ROUNDS ?= 5
NELM         ?=

# Both binaries get the same flags: without them Helm takes Kubernetes 1.20 for
# its default, and a comparison of the two would compare the defaults.
# Evaluated where they are used, so that `make help` starts nothing.
HELM_VERSION = $(shell go list -m -f '{{.Version}}' helm.sh/helm/v3)
KUBE_MINOR   = $(shell go list -m -f '{{.Version}}' k8s.io/client-go | cut -d. -f2)
# What this is a version of itself: the last tag, and how far the commit is from it.
ORDERED_VERSION = $(patsubst v%,%,$(shell git describe --tags --match 'v*' 2>/dev/null || echo 0.0.0-dev))
GIT_COMMIT   = $(shell git rev-parse --quiet --verify HEAD 2>/dev/null)
GIT_STATE    = $(if $(shell git status --porcelain 2>/dev/null),dirty,clean)

HELM_MODULE  := helm.sh/helm/v3
LDFLAGS       = -s -w \
	-X main.orderedVersion=$(ORDERED_VERSION) \
	-X $(HELM_MODULE)/internal/version.version=$(HELM_VERSION) \
	-X $(HELM_MODULE)/internal/version.gitCommit=$(GIT_COMMIT) \
	-X $(HELM_MODULE)/internal/version.gitTreeState=$(GIT_STATE) \
	-X $(HELM_MODULE)/pkg/chartutil.k8sVersionMajor=1 \
	-X $(HELM_MODULE)/pkg/chartutil.k8sVersionMinor=$(KUBE_MINOR) \
	-X $(HELM_MODULE)/pkg/lint/rules.k8sVersionMajor=1 \
	-X $(HELM_MODULE)/pkg/lint/rules.k8sVersionMinor=$(KUBE_MINOR)

GO_BUILD = CGO_ENABLED=0 go build -p $(JOBS) -trimpath -buildvcs=false -ldflags '$(LDFLAGS)'
# The race detector is C. Without a compiler the tests run all the same.
RACE     = $(if $(shell command -v "$$(go env CC)"),-race,$(warning no C compiler: tests run without the race detector))
GO_TEST  = go test -p $(JOBS) $(RACE) -shuffle=on $(if $(RUN),-run '$(RUN)')

# What a run of benchmarks is made of is tested without a cluster and without binaries.
UNIT_PACKAGES = $$(go list ./... | grep -v '/test/') ./test/bench/...
E2E_PACKAGES  = $$(go list ./test/... | grep -vE '/test/(parity|api|bench)(/|$$)')

##@ Build

.PHONY: build
build: ## Build Ordered Helm: bin/helm
	$(GO_BUILD) -o $(BIN)/helm ./cmd/helm

.PHONY: stock
stock: ## Build unmodified Helm of the same version, to compare with: bin/stock-helm
	$(GO_BUILD) -modfile=scripts/tools/stock/go.mod -o $(BIN)/stock-helm $(HELM_MODULE)/cmd/helm

.PHONY: devcluster
devcluster: ## Build the command that starts the dev cluster: bin/devcluster
	cd scripts/devcluster && go build -p $(JOBS) -trimpath -buildvcs=false -o $(BIN)/devcluster ./cmd/devcluster

.PHONY: install
install: build ## Build bin/helm and copy it to PREFIX/bin (PREFIX=/usr/local)
	install -d '$(DESTDIR)$(PREFIX)/bin'
	install -m 0755 $(BIN)/helm '$(DESTDIR)$(PREFIX)/bin/helm'

.PHONY: dist
dist: ## Build the release archives, their bills of materials and checksums: dist/ (VERSION=v1.2.3)
	LDFLAGS='$(LDFLAGS)' scripts/dist.sh

##@ Try

.PHONY: demo
demo: build devcluster ## Install the umbrella example in order on a throw-away cluster, step by step
	scripts/demo.sh

.PHONY: picture
picture: build devcluster $(TOOLS)/terminal-to-html ## Make the picture of the README anew (needs tmux and chromium)
	scripts/picture.sh

.PHONY: cluster-up
cluster-up: devcluster ## Start a dev cluster that stays; its kubeconfig is .devcluster/kubeconfig
	$(BIN)/devcluster up --dir $(CLUSTER) >/dev/null
	@echo "It is up. To use it: export KUBECONFIG=$(CLUSTER)/kubeconfig"

.PHONY: cluster-down
cluster-down: devcluster ## Stop the dev cluster of cluster-up
	$(BIN)/devcluster down --dir $(CLUSTER)

##@ Check

.PHONY: test
test: test-race test-e2e test-parity test-devcluster ## Run every test: unit with the race detector, end to end, parity, dev cluster

.PHONY: test-unit
test-unit: ## Run the unit tests without the race detector: the quick look while editing
	go test -p $(JOBS) -shuffle=on $(if $(RUN),-run '$(RUN)') $(UNIT_PACKAGES)

.PHONY: test-race
test-race: ## Run the unit tests with the race detector, in random order
	$(GO_TEST) $(UNIT_PACKAGES)

.PHONY: test-e2e
test-e2e: build stock devcluster ## Run the end-to-end tests, on dev clusters of their own
	BINARIES=$(BIN) $(GO_TEST) -parallel 16 -timeout 25m $(E2E_PACKAGES)

# Without the race detector: nothing of what is tested runs in the test's process.
.PHONY: test-parity
test-parity: RACE :=
test-parity: build stock devcluster ## Compare bin/helm with bin/stock-helm on the same input, and the packages with Helm's
	BINARIES=$(BIN) $(GO_TEST) -timeout 20m ./test/parity/... ./test/api/...

.PHONY: soak
soak: build stock devcluster ## Kill 200 operations at random moments, then work on 50 releases from 8 processes for ten minutes
	ORDERED_HELM_KILLS=200 BINARIES=$(BIN) go test -count=1 -v -parallel 4 -timeout 90m -run TestKilledAtAnyTime ./test/e2e/recovery
	ORDERED_HELM_SOAK=10m BINARIES=$(BIN) go test -count=1 -v -timeout 30m ./test/soak

.PHONY: protections
protections: build stock devcluster ## Take what protects releases away, one thing at a time, and see that tests notice (an hour)
	scripts/protections

.PHONY: test-devcluster
test-devcluster: ## Run the tests of the dev cluster's own module
	cd scripts/devcluster && go test -p $(JOBS) -shuffle=on -timeout 20m ./...

.PHONY: fuzz
fuzz: ## Run every fuzz target for a while (FUZZTIME=30s each; FUZZ=pattern narrows it)
	FUZZTIME='$(FUZZTIME)' FUZZ='$(FUZZ)' scripts/fuzz.sh

.PHONY: bench
bench: build stock devcluster $(TOOLS)/kapp ## Measure, print the tables and write docs/benchmarks.md (BENCH=pattern narrows it)
	go test -run '^$$' -bench '$(BENCH)' ./internal/sequencer
	BINARIES=$(BIN) KAPP=$(TOOLS)/kapp NELM='$(NELM)' BENCH_ROUNDS=$(BENCH_ROUNDS) BENCH_WRITE=$(CURDIR)/docs \
		go test -run '^$$' -bench '$(BENCH)' -benchtime 1x -timeout 2h ./test/bench

.PHONY: bench-page
bench-page: ## Write docs/benchmarks.md anew from what was measured before
	BENCH_WRITE=$(CURDIR)/docs go test -count=1 -run '^$$' ./test/bench

.PHONY: lint
lint: lint-format lint-workflows lint-protections lint-go lint-devcluster ## Run every linter; changes nothing

.PHONY: lint-format
lint-format: ## Name Go files that gofmt would change
	@found=$$(find . -name '*.go' -not -path '*/testdata/*' -exec gofmt -l {} +); \
	if [ -n "$$found" ]; then echo "not gofmt-formatted, 'make format' mends it:"; echo "$$found"; exit 1; fi

.PHONY: lint-workflows
lint-workflows: $(TOOLS)/actionlint ## Check the GitHub workflows
	$(TOOLS)/actionlint -shellcheck= -pyflakes=

.PHONY: lint-protections
lint-protections: ## Check that what takes protections away still fits the code
	scripts/protections --check

# Asks vuln.go.dev, so it is no part of `make lint`.
.PHONY: vuln
vuln: $(TOOLS)/govulncheck ## Look for known vulnerabilities in what both modules use (needs the network)
	$(TOOLS)/govulncheck ./...
	cd scripts/devcluster && $(TOOLS)/govulncheck ./...

# Linters read compiled dependencies; with the flags of the builds above these
# are the ones that are there already.
lint-go lint-devcluster: export GOFLAGS := -trimpath -buildvcs=false
lint-go: export CGO_ENABLED := 0

.PHONY: lint-go
lint-go: $(TOOLS)/golangci-lint ## Run golangci-lint, with go vet in it, on the main module
	$(TOOLS)/golangci-lint run --allow-serial-runners ./...

.PHONY: lint-devcluster
lint-devcluster: $(TOOLS)/golangci-lint ## Run golangci-lint, with go vet in it, on the dev cluster's module
	cd scripts/devcluster && $(TOOLS)/golangci-lint run --config $(CURDIR)/.golangci.yml --allow-serial-runners ./...

.PHONY: format
format: $(TOOLS)/golangci-lint ## Format the Go files of both modules
	$(TOOLS)/golangci-lint fmt ./...
	cd scripts/devcluster && $(TOOLS)/golangci-lint fmt --config $(CURDIR)/.golangci.yml ./...

# Each tool has a module of its own, so that the needs of one never move
# the versions of another.
$(TOOLS)/%: scripts/tools/%/go.mod scripts/tools/%/go.sum
	cd scripts/tools/$* && CGO_ENABLED=0 go build -p $(JOBS) -trimpath -buildvcs=false -o $@ tool

##@ Tidy up

.PHONY: clean
clean: ## Stop the dev cluster and remove what was built in this checkout
	if [ -d $(CLUSTER) ] && [ -x $(BIN)/devcluster ]; then $(BIN)/devcluster down --dir $(CLUSTER); fi
	rm -rf $(BIN) $(CURDIR)/dist $(CLUSTER)

.PHONY: help
help: ## Print this list
	@awk 'BEGIN { FS = ":.*## "; print "Usage: make TARGET" } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-zA-Z0-9_-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
