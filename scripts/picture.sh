#!/usr/bin/env bash
# Copyright The Ordered Helm Authors
# SPDX-License-Identifier: Apache-2.0
#
# Generates docs/pictures/progress.png, which shows the terminal during an ordered install
# and at its end. `make picture` builds the binaries that it needs; tmux and chromium must be
# installed from the distribution.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

release=shop
chart=examples/umbrella
columns=92
lines=19

fail() {
	printf 'picture: %s\n' "$*" >&2
	exit 1
}
for command in tmux chromium; do
	command -v "$command" >/dev/null || fail "$command is missing: install it from your distribution"
done
for binary in helm devcluster tools/terminal-to-html; do
	[[ -x bin/$binary ]] || fail "bin/$binary is missing: start this with 'make picture'"
done

dir=$(mktemp -d "${TMPDIR:-/tmp}/ordered-helm-picture.XXXXXX")
terminal() { tmux -S "$dir/terminal" "$@"; }
finish() {
	terminal kill-server 2>/dev/null || true
	bin/devcluster down --dir "$dir/cluster" >/dev/null
	rm -rf "$dir"
}
trap finish EXIT
bin/devcluster up --dir "$dir/cluster" >/dev/null

# The pods take a moment to become ready, so that the progress is visible.
cat >"$dir/values.yaml" <<'VALUES'
platform:
  podAnnotations:
    database: {devcluster/after: 3s}
    queue: {devcluster/after: 12s}
backend:
  podAnnotations:
    migrations: {devcluster/after: 9s}
    api: {devcluster/after: 1s}
frontend:
  podAnnotations:
    web: {devcluster/after: 1s}
VALUES

cat >"$dir/prompt" <<PROMPT
unset \${!HELM_@}
export LC_ALL=C.UTF-8 KUBECONFIG=$dir/cluster/kubeconfig HOME=$dir
printf '\$ helm install $release ./$(basename "$chart") --wait=ordered\n'
bin/helm install $release $chart --values $dir/values.yaml --wait=ordered --readiness-timeout 1m >/dev/null
echo 'The end.'
exec cat
PROMPT
export LC_ALL=C.UTF-8
terminal -f /dev/null new-session -d -x "$columns" -y "$lines" "exec bash '$dir/prompt'"

# shot saves the contents of the terminal as soon as it shows all the given texts.
shot() {
	local file=$1 screen text
	shift
	for ((tries = 0; tries < 600; tries++)); do
		sleep 0.1
		screen=$(terminal capture-pane -p)
		for text in "$@"; do
			[[ $screen == *"$text"* ]] || continue 2
		done
		terminal capture-pane -e -p | grep -v 'The end' | awk NF >"$dir/$file"
		return
	done
	fail "the terminal does not show: $*"$'\n'"$screen"
}
shot during "1 of 2 nodes ready" "NotReady: "
shot end "The end."

{
	cat <<'PAGE'
<!DOCTYPE html><meta charset="utf-8"><style>
body { margin: 0; padding: 20px 24px; background: #161b22; color: #e6edf3; font: 15px/1.35 "DejaVu Sans Mono", monospace; white-space: pre; }
.term-fg1 { font-weight: bold } .term-fg2 { color: #8b949e } .term-fg31 { color: #ff7b72 } .term-fg32 { color: #3fb950 } .term-fg36 { color: #39c5cf }
hr { border: 0; border-top: 1px solid #30363d; margin: 14px 0 }
</style>
PAGE
	bin/tools/terminal-to-html <"$dir/during"
	printf '<hr>'
	sed 1d "$dir/end" | bin/tools/terminal-to-html
} >"$dir/page.html"

mkdir -p docs/pictures
rows=$(($(wc -l <"$dir/during") + $(wc -l <"$dir/end")))
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size="$((columns * 9 + 60)),$((rows * 20 + 80))" \
	--screenshot="$PWD/docs/pictures/progress.png" "file://$dir/page.html" >/dev/null 2>&1
echo "docs/pictures/progress.png"
