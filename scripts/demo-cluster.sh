# Copyright The Ordered Helm Authors
# SPDX-License-Identifier: Apache-2.0
#
# Starts a temporary cluster for a demo, which sources this file: it sets KUBECONFIG and the directory
# "dir", and stops the cluster when the demo ends. Sourced in the root directory of the repository.

# shellcheck shell=bash

step() { printf '\n==> %s\n' "$*" >&2; }
fail() {
	printf 'demo: %s\n' "$*" >&2
	exit 1
}

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
