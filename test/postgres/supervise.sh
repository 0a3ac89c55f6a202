#!/bin/sh
# Copyright The Ordered Helm Authors
# SPDX-License-Identifier: Apache-2.0
#
# usage: supervise.sh BINDIR PORT USER, with the password of USER in PASSWORD
#
# Runs a PostgreSQL server with its data in a temporary directory until stdin is closed, then
# stops the server and deletes the directory. Stdin is a pipe, which is closed when the test
# process ends, even if that is killed.

set -eu
umask 077

# The user that runs this may have no access to the directory for temporary files.
dir=$(mktemp -d 2>/dev/null || TMPDIR=/tmp mktemp -d)
trap 'rm -rf "$dir"' EXIT

printf '%s' "$PASSWORD" >"$dir/password"
unset PASSWORD
"$1/initdb" --pgdata="$dir/data" --username="$3" --pwfile="$dir/password" \
	--auth=scram-sha-256 --encoding=UTF8 --locale=C --no-sync >&2

# No Unix socket, no shared memory that could outlive the server, no fsync.
"$1/postgres" -D "$dir/data" -p "$2" -h 127.0.0.1 -k '' -F -c dynamic_shared_memory_type=mmap &
server=$!

# A shell gives background commands no stdin, so they need a copy of it.
exec 3<&0
(
	read -r _ || :
	# SIGTERM makes the server stop when all clients have disconnected, SIGINT makes it disconnect
	# them. A server that is still starting ignores SIGINT.
	kill -TERM "$server"
	kill -INT "$server"
) <&3 2>/dev/null &
watcher=$!

status=0
wait "$server" || status=$?
kill "$watcher" 2>/dev/null || :
exit "$status"
