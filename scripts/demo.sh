#!/usr/bin/env bash
# Copyright The Ordered Helm Authors
# SPDX-License-Identifier: Apache-2.0
#
# Shows an ordered install, from the graph to the uninstall, on a cluster that
# is there for this script alone. `make demo` builds what it needs.

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

# The cluster ends when its standard input does: that pipe closes with this
# script, in whatever way the script ends. So nothing that is started below may
# hold it open.
alone() { "$@" {alive}>&-; }

finish() {
	local code=$?
	trap '' INT TERM HUP
	step "Stop the cluster"
	exec {alive}>&-
	wait "$cluster" || code=1
	rm -rf "$dir"
	if ((code == 0)); then
		printf '\nThe demo is through.\n' >&2
	else
		printf '\nThe demo failed.\n' >&2
	fi
	exit "$code"
}

step "Build the dev cluster, where it is not there yet"
bin/devcluster binaries >/dev/null

# The user's own settings and clusters are no part of this.
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

# It gives up by itself when it does not become ready.
until [[ -s $KUBECONFIG ]]; do
	kill -0 "$cluster" 2>/dev/null || fail "the cluster did not start"
	alone sleep 0.1
done

# Pods that take a moment, so that there is something to see: the queue is ready
# long before the database, and nothing that needs both starts before both are.
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
