# Copyright The Ordered Helm Authors
# SPDX-License-Identifier: Apache-2.0

SHELL         := bash
.SHELLFLAGS   := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS     += --no-print-directory

# A Go workspace that contains the checkout would mix its separate modules: the main
# module, cmd/helm-controller, test and scripts/devcluster.
export GOWORK := off

BIN     := $(CURDIR)/bin
TOOLS   := $(BIN)/tools
CLUSTER := $(CURDIR)/.devcluster
PREFIX  ?= /usr/local

# How many packages are built and tested in parallel. Each end-to-end package starts its
# own control plane, which needs about one GiB.
JOBS ?= 2

# Patterns that select tests or benchmarks: make test-e2e RUN=TestRecovery
RUN   ?=
BENCH ?= .
# How long each fuzz target runs, and which targets run.
FUZZTIME ?= 30s
FUZZ     ?=
# How many rounds of a benchmark count, and the nelm binary, if nelm is measured too.
BENCH_ROUNDS ?= 5
NELM         ?=

# Both binaries are built with the same flags. Without them, Helm assumes Kubernetes 1.20,
# and a comparison of the binaries would compare these defaults.
# The variables are evaluated only where they are used, so that `make help` runs no command.
HELM_VERSION = $(shell go list -m -f '{{.Version}}' helm.sh/helm/v3)
KUBE_MINOR   = $(shell go list -m -f '{{.Version}}' k8s.io/client-go | cut -d. -f2)
# The version of Ordered Helm: the last tag, and the number of commits since then.
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
# The race detector needs a C compiler. Without one, the tests run without it.
RACE     = $(if $(shell command -v "$$(go env CC)"),-race,$(warning no C compiler: tests run without the race detector))
# Go caches the results of tests whose packages and files did not change, if they run in
# source order. FRESH=1 runs them again, in random order.
# The linters include go vet.
GO_TEST  = go test -p $(JOBS) -vet=off $(if $(FRESH),-count=1 -shuffle=on) $(if $(RUN),-run '$(RUN)')
# Tests of the module test read files outside the module, which Go does not track. Their
# results are therefore never cached. The flags are those of GO_BUILD, so that each package
# is compiled only once.
GO_TEST_BINARIES = CGO_ENABLED=0 go test -p $(JOBS) -vet=off -trimpath -buildvcs=false -count=1 -shuffle=on $(if $(RUN),-run '$(RUN)')
GO_TEST_RACE     = go test -p $(JOBS) -vet=off $(RACE) -count=1 -shuffle=on

# The tests of these packages compute a lot, and do little concurrently. The race detector makes
# them more than ten times slower, so that only "make soak" runs them with it.
COMPUTING = chartloader chunkedsecret luasandbox orderrecord releaselist releaseparts removal render sequencer
NOT_COMPUTING = $$(go list ./... | grep -vE '/internal/($(subst $() ,|,$(COMPUTING)))$$')

# The packages of the module test that start neither helm nor a cluster.
IN_PROCESS_PACKAGES = ./bench/... ./certificates ./chartserver ./fault ./ociregistry ./signing
E2E_PACKAGES        = $$(go list ./... | grep -vE '/test/(parity|api|bench|certificates|chartserver|fault|ociregistry|signing|tools)(/|$$)')

# The tests that test-e2e-crd runs with releases as objects, and the packages that soak runs so.
CRD_TESTS    = ^(TestKilledAtAnyTime|TestKilledBeforeFirstRevision|TestHooksOfTwoTerminatedOperations|TestLockIsHeldDuringCleanup|TestLiveLockIsNotTakenOver)$$
CRD_PACKAGES = $(addprefix ./e2e/,recovery faults lifecycle ordering hooks hookorder interference random readiness requests secrets output)

# The tests that run only in soak, as a pattern of go test and as packages.
VARIANTS         = $(shell awk '/^[a-z]/ { gsub("/", "$$/^", $$2); printf "%s^%s$$", bar, $$2; bar = "|" }' test/variants.txt)
VARIANT_PACKAGES = $(shell awk '/^[a-z]/ { print "./" $$1 }' test/variants.txt | sort -u)

# The tools that call helm, which test-tools runs with bin/helm.
OTHER_TOOLS = chart-testing helm-diff helm-unittest helmfile

# The tests that run with the race detector in helm and in the test program: for each
# operation and for the SDK, the tests with the most concurrency.
RACE_TESTS = TestApplyMatchesHelmUpdate TestAtomicInstall TestConcurrentUpgradeAndUninstall \
	TestDroppedWatches TestHangingRequestEndsAtTimeout TestInterrupt TestLifecycleProgress \
	TestLiveLockIsNotTakenOver TestLiveView TestLiveViewOfFailure \
	TestLockIsHeldDuringCleanup TestLogsOfParallelHooks TestPlanMatchesUpgrade \
	TestRandomHooks TestRandomOperations TestSDKErrors TestSDKLeavesNothingRunning \
	TestSDKLifecycle TestSecondSignal TestServerOutage TestSlowBranchDoesNotBlockOthers \
	TestSoak TestTestsInParallel
RACE_PATTERN = ^($(subst $() ,|,$(strip $(RACE_TESTS))))$$
RACE_PACKAGES = $$(grep -rlE --include='*_test.go' '^func ($(subst $() ,|,$(strip $(RACE_TESTS))))\(' . | xargs -n 1 dirname | sort -u)

##@ Build

.PHONY: build
build: ## Build Ordered Helm: bin/helm
	$(GO_BUILD) -o $(BIN)/helm ./cmd/helm

.PHONY: stock
stock: ## Build unmodified Helm of the same version, for comparison: bin/stock-helm
	$(GO_BUILD) -modfile=scripts/tools/stock/go.mod -o $(BIN)/stock-helm $(HELM_MODULE)/cmd/helm

# The recordings of the scenarios of test/parity are identified by the digest of this
# binary, so it must be the same for every commit.
stock: ORDERED_VERSION := 0.0.0
stock: GIT_COMMIT := 0000000000000000000000000000000000000000
stock: GIT_STATE := clean

.PHONY: helm4
helm4: $(BIN)/helm4 ## Build unmodified Helm 4, for the tests of charts and releases that both use: bin/helm4

HELM4_MODULE  := helm.sh/helm/v4
HELM4_LDFLAGS  = -s -w \
	-X $(HELM4_MODULE)/internal/version.version=$(shell cd scripts/tools/helm4 && go list -m -f '{{.Version}}' $(HELM4_MODULE)) \
	-X $(HELM4_MODULE)/internal/version.gitTreeState=clean

# Helm 4 reads the version of Kubernetes from the modules in the binary.
$(BIN)/helm4: scripts/tools/helm4/go.mod scripts/tools/helm4/go.sum
	cd scripts/tools/helm4 && CGO_ENABLED=0 go build -p $(JOBS) -trimpath -buildvcs=false -ldflags '$(HELM4_LDFLAGS)' -o $@ $(HELM4_MODULE)/cmd/helm

.PHONY: race
race: stock ## Build Ordered Helm with the race detector, and link stock Helm: bin/race/helm
	mkdir -p $(BIN)/race
	go build $(RACE) -p $(JOBS) -buildvcs=false -ldflags '$(LDFLAGS)' -o $(BIN)/race/helm ./cmd/helm
	ln -sf ../stock-helm $(BIN)/race/stock-helm

.PHONY: devcluster
devcluster: ## Build the command that starts dev clusters: bin/devcluster
	cd scripts/devcluster && go build -p $(JOBS) -trimpath -buildvcs=false -o $(BIN)/devcluster ./cmd/devcluster

# Only the targets of the controller use its workspace: it is a module of its own, so that
# the module of helm does not depend on controller-runtime.
CONTROLLER      := $(CURDIR)/cmd/helm-controller
CONTROLLER_WORK := GOWORK=$(CONTROLLER)/go.work

.PHONY: controller
controller: ## Build the controller: bin/helm-controller
	cd $(CONTROLLER) && $(CONTROLLER_WORK) $(GO_BUILD) -o $(BIN)/helm-controller .

.PHONY: generate
generate: $(TOOLS)/controller-gen ## Generate the code and the CustomResourceDefinition of HelmRequest from its Go types
	cd $(CONTROLLER) && $(CONTROLLER_WORK) $(TOOLS)/controller-gen object crd:crdVersions=v1 paths=./api/... output:crd:dir=chart/templates

# The version of the main module that the controller requires need not be published.
.PHONY: tidy-controller
tidy-controller: ## Run go mod tidy in the controller's module
	cd $(CONTROLLER) && go mod edit -replace $(MAIN_MODULE)=../.. && go mod tidy; go mod edit -dropreplace $(MAIN_MODULE)

MAIN_MODULE := github.com/ordered-helm/helm

.PHONY: install
install: build ## Build bin/helm and copy it to PREFIX/bin (PREFIX=/usr/local)
	install -d '$(DESTDIR)$(PREFIX)/bin'
	install -m 0755 $(BIN)/helm '$(DESTDIR)$(PREFIX)/bin/helm'

.PHONY: dist
dist: ## Build the release archives, their SBOMs and checksums, and the container images: dist/ (VERSION=v1.2.3)
	LDFLAGS='$(LDFLAGS)' scripts/dist.sh

##@ Try

.PHONY: demo
demo: build devcluster ## Install the umbrella example in order on a temporary cluster, step by step
	scripts/demo.sh

.PHONY: demo-controller
demo-controller: build controller devcluster ## Deploy HelmRequests with the controller on a temporary cluster, step by step
	scripts/demo-controller.sh

.PHONY: picture
picture: build devcluster $(TOOLS)/terminal-to-html ## Regenerate the picture in the README (needs tmux and chromium)
	scripts/picture.sh

.PHONY: cluster-up
cluster-up: devcluster ## Start a dev cluster that keeps running; its kubeconfig is .devcluster/kubeconfig
	$(BIN)/devcluster up --dir $(CLUSTER) >/dev/null
	@echo "The cluster is running. To use it: export KUBECONFIG=$(CLUSTER)/kubeconfig"

.PHONY: cluster-down
cluster-down: devcluster ## Stop the dev cluster of cluster-up
	$(BIN)/devcluster down --dir $(CLUSTER)

##@ Check

.PHONY: test
test: test-race test-e2e test-e2e-crd test-e2e-race test-parity test-devcluster ## Run all tests (FRESH=1 ignores cached results)

.PHONY: test-unit
test-unit: ## Run the unit tests without the race detector: a quick check while editing
	$(GO_TEST) ./...

.PHONY: test-race
test-race: ## Run the unit tests, most of them with the race detector
	$(GO_TEST) $(RACE) $(NOT_COMPUTING)
	CGO_ENABLED=0 $(GO_TEST) -trimpath $(addprefix ./internal/,$(COMPUTING))
	cd $(CONTROLLER) && $(CONTROLLER_WORK) $(GO_TEST) $(RACE) ./...
	cd test && $(GO_TEST_RACE) $(if $(RUN),-run '$(RUN)') $(IN_PROCESS_PACKAGES)

.PHONY: test-e2e
test-e2e: build stock helm4 controller devcluster ## Run the end-to-end tests on their own dev clusters
	cd test && BINARIES=$(BIN) $(GO_TEST_BINARIES) $(if $(RUN),,-skip '$(RACE_PATTERN)|$(VARIANTS)') -parallel 8 -timeout 25m $(E2E_PACKAGES)

# "make soak" runs all of them.
.PHONY: test-e2e-crd
test-e2e-crd: build stock devcluster ## Run some end-to-end tests with releases that are stored as objects
	cd test && HELM_DRIVER=crd BINARIES=$(BIN) $(GO_TEST_BINARIES) -run '$(or $(RUN),$(CRD_TESTS))' -parallel 8 -timeout 25m ./e2e/recovery

# If helm is killed, or no test checks its exit code, the reports of the race detector are
# only in the files of log_path.
.PHONY: test-e2e-race
test-e2e-race: race devcluster ## Run the tests of RACE_TESTS with the race detector in helm and in the test program
	@for name in $(RACE_TESTS); do grep -rq --include='*_test.go' "^func $$name(" test || \
		{ echo "RACE_TESTS contains $$name, which does not exist: replace it with the tests that cover the same" >&2; exit 1; }; done
	rm -f $(BIN)/race/report.*
	cd test && BINARIES=$(BIN)/race GORACE=log_path=$(BIN)/race/report \
		$(GO_TEST_RACE) -run '$(or $(RUN),$(RACE_PATTERN))' -parallel 8 -timeout 25m $(RACE_PACKAGES)
	@! cat $(BIN)/race/report.* 2>/dev/null

# The results of stock Helm are reused from the last run in which both binaries agreed,
# unless PARITY_FRESH is set.
.PHONY: test-parity
test-parity: build stock devcluster ## Compare bin/helm with bin/stock-helm on the same input, and the Go packages with Helm's
	cd test && BINARIES=$(BIN) PARITY_FRESH=$(FRESH) $(GO_TEST_BINARIES) -timeout 20m ./parity/... ./api/...

# A tool that cannot be built does not prevent the tests of the others.
.PHONY: test-tools
test-tools: build stock devcluster ## Run tools that call helm, such as helmfile, with bin/helm (the first run builds them, in about 15 minutes)
	@for tool in $(OTHER_TOOLS); do $(MAKE) $(TOOLS)/$$tool || echo "$$tool cannot be built: its tests are skipped" >&2; done
	cd test && BINARIES=$(BIN) TOOLS=$(TOOLS) $(GO_TEST_BINARIES) -timeout 20m ./tools

.PHONY: soak
soak: build stock helm4 controller devcluster ## Kill 200 operations at random moments, run malicious scripts on busy processors, then 8 processes on 50 releases for ten minutes
	cd test && ORDERED_HELM_KILLS=200 BINARIES=$(BIN) go test -count=1 -v -parallel 4 -timeout 90m -run TestKilledAtAnyTime ./e2e/recovery
	cd test && HELM_DRIVER=crd ORDERED_HELM_KILLS=200 BINARIES=$(BIN) go test -count=1 -v -parallel 4 -timeout 90m -run TestKilledAtAnyTime ./e2e/recovery
	cd test && HELM_DRIVER=crd BINARIES=$(BIN) go test -count=1 -parallel 16 -timeout 60m $(CRD_PACKAGES)
	cd test && ORDERED_HELM_RANDOM=30 BINARIES=$(BIN) go test -count=1 -parallel 8 -timeout 60m -run 'TestRandom(Operations|Hooks)' ./e2e/random ./e2e/hookorder
	cd test && ORDERED_HELM_CONTROLLER_KILLS=100 BINARIES=$(BIN) go test -count=1 -v -timeout 30m -run TestKilledController ./e2e/controller
	$(GO_TEST) $(RACE) -count=1 -timeout 60m $(addprefix ./internal/,$(COMPUTING))
	cd test && BINARIES=$(BIN) go test -count=1 -parallel 16 -timeout 60m -run '$(VARIANTS)' $(VARIANT_PACKAGES)
	cd test && ORDERED_HELM_SOAK=10m BINARIES=$(BIN) go test -count=1 -v -timeout 10m -run TestAttacksUnderLoad ./scripts
	cd test && ORDERED_HELM_SOAK=10m BINARIES=$(BIN) go test -count=1 -v -timeout 30m ./soak

.PHONY: protections
protections: build stock helm4 controller devcluster ## Remove each protection of releases from the code in turn, and check that tests then fail (about an hour)
	scripts/protections

.PHONY: test-devcluster
test-devcluster: ## Run the tests of the dev cluster's module
	cd scripts/devcluster && $(GO_TEST) -timeout 20m ./...

.PHONY: fuzz
fuzz: ## Run every fuzz target (FUZZTIME=30s each; FUZZ=pattern selects targets)
	FUZZTIME='$(FUZZTIME)' FUZZ='$(FUZZ)' scripts/fuzz.sh

.PHONY: bench
bench: build stock helm4 controller devcluster $(TOOLS)/kapp ## Run the benchmarks, print the tables and write docs/benchmarks.md (BENCH=pattern selects benchmarks)
	go test -run '^$$' -bench '$(BENCH)' ./internal/sequencer
	cd test && BINARIES=$(BIN) KAPP=$(TOOLS)/kapp NELM='$(NELM)' BENCH_ROUNDS=$(BENCH_ROUNDS) BENCH_WRITE=$(CURDIR)/docs \
		go test -run '^$$' -bench '$(BENCH)' -benchtime 1x -timeout 2h ./bench

.PHONY: bench-page
bench-page: ## Regenerate docs/benchmarks.md from earlier measurements
	cd test && BENCH_WRITE=$(CURDIR)/docs go test -count=1 -run '^$$' ./bench

.PHONY: lint
lint: lint-format lint-workflows lint-protections lint-variants lint-go lint-controller lint-test lint-devcluster ## Run all linters, without changing files

.PHONY: lint-format
lint-format: ## List Go files that gofmt would change
	@found=$$(find . -name '*.go' -not -path '*/testdata/*' -exec gofmt -l {} +); \
	if [ -n "$$found" ]; then echo "not gofmt-formatted, run 'make format':"; echo "$$found"; exit 1; fi

.PHONY: lint-workflows
lint-workflows: $(TOOLS)/actionlint ## Check the GitHub workflows
	$(TOOLS)/actionlint -shellcheck= -pyflakes=

.PHONY: lint-protections
lint-protections: ## Check that the patches that remove protections still apply
	scripts/protections --check

.PHONY: lint-variants
lint-variants: ## Check that the tests in test/variants.txt exist
	@awk '/^[a-z]/ { sub("/.*", "", $$2); print }' test/variants.txt | while read -r package name; do \
		grep -q "^func $$name(" test/$$package/*_test.go || { echo "test/variants.txt: there is no $$name in test/$$package" >&2; exit 1; }; done

# This queries vuln.go.dev, so it is not part of `make lint`.
.PHONY: vuln
vuln: $(TOOLS)/govulncheck ## Check the dependencies of all modules for known vulnerabilities (needs the network)
	$(TOOLS)/govulncheck ./...
	cd $(CONTROLLER) && $(CONTROLLER_WORK) $(TOOLS)/govulncheck ./...
	cd test && $(TOOLS)/govulncheck ./...
	cd scripts/devcluster && $(TOOLS)/govulncheck ./...

# Linters read compiled dependencies. With the flags of the builds above, they reuse the
# packages that are already in the build cache.
lint-go lint-controller lint-test lint-devcluster: export GOFLAGS := -trimpath -buildvcs=false
lint-go lint-controller lint-test: export CGO_ENABLED := 0

.PHONY: lint-go
lint-go: $(TOOLS)/golangci-lint ## Run golangci-lint, including go vet, on the main module
	$(TOOLS)/golangci-lint run --allow-serial-runners ./...

.PHONY: lint-controller
lint-controller: $(TOOLS)/golangci-lint ## Run golangci-lint, including go vet, on the controller's module
	cd $(CONTROLLER) && $(CONTROLLER_WORK) $(TOOLS)/golangci-lint run --config $(CURDIR)/.golangci.yml --allow-serial-runners ./...

.PHONY: lint-test
lint-test: $(TOOLS)/golangci-lint ## Run golangci-lint, including go vet, on the tests' module
	cd test && $(TOOLS)/golangci-lint run --config $(CURDIR)/.golangci.yml --allow-serial-runners ./...

.PHONY: lint-devcluster
lint-devcluster: $(TOOLS)/golangci-lint ## Run golangci-lint, including go vet, on the dev cluster's module
	cd scripts/devcluster && $(TOOLS)/golangci-lint run --config $(CURDIR)/.golangci.yml --allow-serial-runners ./...

.PHONY: format
format: $(TOOLS)/golangci-lint ## Format the Go files of all modules
	$(TOOLS)/golangci-lint fmt ./...
	cd $(CONTROLLER) && $(TOOLS)/golangci-lint fmt --config $(CURDIR)/.golangci.yml ./...
	cd test && $(TOOLS)/golangci-lint fmt --config $(CURDIR)/.golangci.yml ./...
	cd scripts/devcluster && $(TOOLS)/golangci-lint fmt --config $(CURDIR)/.golangci.yml ./...

# Each tool has its own module, so that the dependencies of one tool never change the
# versions of another.
$(TOOLS)/%: scripts/tools/%/go.mod scripts/tools/%/go.sum
	cd scripts/tools/$* && CGO_ENABLED=0 go build -p $(JOBS) -trimpath -buildvcs=false -o $@ tool

# Compiling helmfile takes ten minutes, so its binary is kept outside the checkout.
$(TOOLS)/helmfile: scripts/tools/helmfile/go.mod scripts/tools/helmfile/go.sum
	JOBS=$(JOBS) scripts/cached-tool.sh helmfile $@

##@ Tidy up

.PHONY: clean
clean: ## Stop the dev cluster and remove all build output
	if [ -d $(CLUSTER) ] && [ -x $(BIN)/devcluster ]; then $(BIN)/devcluster down --dir $(CLUSTER); fi
	rm -rf $(BIN) $(CURDIR)/dist $(CLUSTER)

.PHONY: help
help: ## Print this list
	@awk 'BEGIN { FS = ":.*## "; print "Usage: make TARGET" } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-zA-Z0-9_-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
