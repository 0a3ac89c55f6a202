#!/bin/sh
# Copyright The Ordered Helm Authors
# SPDX-License-Identifier: Apache-2.0
#
# usage: supervise.sh BINDIR PORT USER, with the password of USER in PASSWORD
#
# Runs a PostgreSQL server on a folder of its own until stdin ends, and then
# leaves nothing behind. Stdin ends with the process that holds its other end,
# however that process ends.

set -eu
umask 077

# The folder for temporary files may be closed to the user that this runs as.
dir=$(mktemp -d 2>/dev/null || TMPDIR=/tmp mktemp -d)
trap 'rm -rf "$dir"' EXIT

printf '%s' "$PASSWORD" >"$dir/password"
unset PASSWORD
"$1/initdb" --pgdata="$dir/data" --username="$3" --pwfile="$dir/password" \
	--auth=scram-sha-256 --encoding=UTF8 --locale=C --no-sync >&2

# No Unix socket, no shared memory that could outlive the server, no fsync.
"$1/postgres" -D "$dir/data" -p "$2" -h 127.0.0.1 -k '' -F -c dynamic_shared_memory_type=mmap &
server=$!

# What a shell starts in the background has no stdin unless it is told to.
exec 3<&0
(
	read -r _ || :
	# The first asks to end once all clients have left, the second to cut them
	# off. A server that has only just begun ignores the second.
	kill -TERM "$server"
	kill -INT "$server"
) <&3 2>/dev/null &
watcher=$!

status=0
wait "$server" || status=$?
kill "$watcher" 2>/dev/null || :
exit "$status"
