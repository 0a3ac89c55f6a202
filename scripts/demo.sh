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

step() { printf '\n==> %s\n' "$*" >&2; }
fail() {
	printf 'demo: %s\n' "$*" >&2
	exit 1
}

for binary in helm devcluster; do
	[[ -x bin/$binary ]] || fail "bin/$binary is missing: start this with 'make demo'"
done

# The cluster stops when its standard input, a pipe, is closed. This happens when the script ends,
# even if it is killed, so no command below may inherit the pipe.
alone() { "$@" {alive}>&-; }

finish() {
	local code=$?
	trap '' INT TERM HUP
	step "Stop the cluster"
	exec {alive}>&-
	wait "$cluster" || code=1
	rm -rf "$dir"
	if ((code == 0)); then
		printf '\nThe demo has finished.\n' >&2
	else
		printf '\nThe demo failed.\n' >&2
	fi
	exit "$code"
}

step "Build the dev cluster, unless it was built before"
bin/devcluster binaries >/dev/null

# Ignore the user's own settings and clusters.
dir=$(mktemp -d "${TMPDIR:-/tmp}/ordered-helm-demo.XXXXXX")
unset "${!HELM_@}"
export KUBECONFIG=$dir/kubeconfig
export HELM_CACHE_HOME=$dir/helm/cache HELM_CONFIG_HOME=$dir/helm/config HELM_DATA_HOME=$dir/helm/data

step "Start a cluster in $dir"
exec {alive}> >(exec bin/devcluster run --dir "$dir" --with-parent --remove-dir >/dev/null)
cluster=$!
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# The cluster exits if it does not become ready.
until [[ -s $KUBECONFIG ]]; do
	kill -0 "$cluster" 2>/dev/null || fail "the cluster did not start"
	alone sleep 0.1
done

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
