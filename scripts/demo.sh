#!/usr/bin/env bash
# Copyright The Ordered Helm Authors
# SPDX-License-Identifier: Apache-2.0
#
# Demonstrates an ordered install, from the graph to the uninstall, on a temporary
# cluster. `make demo` builds the binaries that it needs.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

release=demo
chart=examples/umbrella

for binary in helm devcluster; do
	[[ -x bin/$binary ]] || {
		echo "bin/$binary is missing: start this with 'make demo'" >&2
		exit 1
	}
done
# shellcheck source=scripts/demo-cluster.sh
source scripts/demo-cluster.sh

# The pods take a moment to become ready, so that the order is visible: the queue is ready
# long before the database, and nodes that need both start only when both are ready.
cat >"$dir/values.yaml" <<'VALUES'
platform:
  podAnnotations:
    database: {devcluster/after: 3s}
    queue: {devcluster/after: 1s}
backend:
  podAnnotations:
    migrations: {devcluster/after: 2s}
    api: {devcluster/after: 1s}
frontend:
  podAnnotations:
    web: {devcluster/after: 1s}
VALUES

step "helm dag $chart"
alone bin/helm dag "$chart" --values "$dir/values.yaml"

step "helm install $release $chart --wait=ordered"
alone bin/helm install "$release" "$chart" --values "$dir/values.yaml" --wait=ordered --timeout 2m

step "helm list"
alone bin/helm list
alone bin/helm list --deployed --short | grep -qx "$release" || fail "helm list does not show $release as deployed"

step "helm uninstall $release"
alone bin/helm uninstall "$release" --timeout 2m
[[ -z $(alone bin/helm list --all --short) ]] || fail "helm list still shows a release"
