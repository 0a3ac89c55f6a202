#!/usr/bin/env bash
# Copyright The Ordered Helm Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds a tool of scripts/tools that takes long to compile, and copies its binary to a path.
# The binary is kept in ordered-helm/tools in the user's cache directory, next to the binaries
# of the dev cluster, until the tool's module, the version of Go or the platform changes.
#
# Usage: cached-tool.sh TOOL PATH
#
# JOBS  how many packages are compiled in parallel; the default is 2

set -euo pipefail
tool=$1
path=$(realpath -m "$2")
cd "$(dirname "${BASH_SOURCE[0]}")/tools/$tool"

key=$({ cat go.mod go.sum; go env GOVERSION GOOS GOARCH; } | sha256sum | cut -c 1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ordered-helm/tools
cached=$cache/$tool-$key

mkdir -p "$cache" "$(dirname "$path")"
if [[ ! -x $cached ]]; then
	echo "building $tool; this takes several minutes, and is done only once" >&2
	# The binary gets its final name only when it is complete.
	built=$(mktemp "$cached.XXXXXX")
	trap 'rm -f "$built"' EXIT
	CGO_ENABLED=0 go build -p "${JOBS:-2}" -trimpath -buildvcs=false -ldflags '-s -w' -o "$built" tool
	mv "$built" "$cached"
fi
install -m 0755 "$cached" "$path"
