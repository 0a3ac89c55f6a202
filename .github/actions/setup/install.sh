#!/usr/bin/env bash
# Copyright The Ordered Helm Authors
# SPDX-License-Identifier: Apache-2.0
#
# Downloads the archive of a release of Ordered Helm for this platform, verifies its checksum, and
# unpacks it into a directory.
#
# usage: install.sh VERSION DIRECTORY [URL]
#
# URL contains a directory for each version. The default is the address of the project's releases.

set -euo pipefail

fail() {
	printf 'install: %s\n' "$*" >&2
	exit 1
}
(($# == 2 || $# == 3)) || fail "usage: install.sh VERSION DIRECTORY [URL]"
version=$1
directory=$2
releases=${3:-https://github.com/ordered-helm/helm/releases/download}
[[ $version =~ ^v[0-9][0-9A-Za-z.-]*$ ]] || fail "the version '$version' is not like v1.2.3"

case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
MINGW* | MSYS* | CYGWIN*) os=windows ;;
*) fail "there is no release for $(uname -s)" ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "there is no release for $(uname -m)" ;;
esac
name=ordered-helm-$version-$os-$arch

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for file in "$name.tar.gz" checksums.txt; do
	curl --fail --silent --show-error --location --retry 3 --output "$work/$file" "$releases/$version/$file" ||
		fail "downloading $releases/$version/$file failed"
done

expected=$(awk -v name="$name.tar.gz" '$2 == name { print $1 }' "$work/checksums.txt")
[[ $expected =~ ^[0-9a-f]{64}$ ]] || fail "checksums.txt does not contain one checksum for $name.tar.gz"
if command -v sha256sum >/dev/null; then
	actual=$(sha256sum <"$work/$name.tar.gz")
else
	actual=$(shasum -a 256 <"$work/$name.tar.gz")
fi
actual=${actual%% *}
[[ $actual == "$expected" ]] ||
	fail "the checksum of $name.tar.gz is $actual, but checksums.txt says $expected: nothing was installed"

mkdir -p "$directory"
tar -xzf "$work/$name.tar.gz" -C "$directory" --strip-components 1
echo "installed $name in $directory" >&2
