#!/usr/bin/env bash
# Copyright The Ordered Helm Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs every fuzz target of the main module and of the module test sequentially. It continues
# after a target that fails. Inputs that cause a failure are written to testdata/fuzz of the
# target's package, and are part of every later test run.
#
# FUZZTIME  how long each target runs, or how often, as in 1000x; the default is 30s
# FUZZ      runs only targets whose names match this pattern

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

failed=()
while IFS=: read -r file target; do
	echo "== $target in ${file%/*}"
	# Without a limit, go test spends up to a minute on minimizing each input.
	module=.
	if [[ $file == test/* ]]; then module=test; fi
	go -C "$module" test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-30s}" -fuzzminimizetime 10x "$PWD/${file%/*}" ||
		failed+=("$target in ${file%/*}")
done < <(git ls-files --cached --others --exclude-standard '*_test.go' |
	grep -v '^scripts/' |
	xargs grep -Eo '^func Fuzz[A-Za-z0-9_]+' |
	sed 's/func //' |
	{ grep -E "${FUZZ:-.}" || true; })

if ((${#failed[@]} > 0)); then
	printf 'failed: %s\n' "${failed[@]}" >&2
	exit 1
fi
