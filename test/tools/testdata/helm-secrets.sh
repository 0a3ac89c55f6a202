#!/bin/sh
# Copyright The Ordered Helm Authors
# SPDX-License-Identifier: Apache-2.0
#
# A plugin that calls helm like helm-secrets: as a wrapper that decrypts values files, as a
# downloader of secrets://, and as a post-renderer. Its encrypted files are in base64.
set -eu

wrap() {
	count=$#
	list=
	while [ "$count" -gt 0 ]; do
		argument=$1
		shift
		count=$((count - 1))
		set -- "$@" "$argument"
		if [ "$argument" = -f ] || [ "$argument" = --values ]; then
			base64 -d "$1" >"$1.dec"
			list="$list $1.dec"
			set -- "$@" "$1.dec"
			shift
			count=$((count - 1))
		fi
	done
	code=0
	"$HELM_BIN" "$@" || code=$?
	rm -f $list
	exit $code
}

case $1 in
downloader) base64 -d "${5#secrets://}" ;;
decrypt) base64 -d "$2" ;;
post-renderer) sed s/ref+fake:/decrypted-/ ;;
--evaluate-templates)
	shift
	wrap "$@" --post-renderer "$HELM_BIN" --post-renderer-args secrets --post-renderer-args post-renderer
	;;
*) wrap "$@" ;;
esac
