#!/usr/bin/env bash
# Copyright The Ordered Helm Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs every fuzz target of the main module and of test, one after the other, and goes on after one that
# finds something. What it found is below testdata/fuzz of the target's package, and is
# part of every test run from then on.
#
# FUZZTIME  how long each target runs, or how often as in 1000x; by default 30s
# FUZZ      a pattern: only targets whose names have it in them

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

failed=()
while IFS=: read -r file target; do
	echo "== $target in ${file%/*}"
	# Without a limit the engine makes an input smaller for a minute, and looks at
	# nothing else meanwhile.
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
	printf 'found something: %s\n' "${failed[@]}" >&2
	exit 1
fi
