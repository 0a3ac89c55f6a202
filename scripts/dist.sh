#!/usr/bin/env bash
# Copyright The Ordered Helm Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds bin/helm for every platform of a release, packs each into an archive
# under dist/, says beside it what the binary is made of (CycloneDX), and writes the
# checksums of all.
#
# VERSION    names the archives; by default what git describes
# PLATFORMS  "os/arch ..." to build for; by default all of a release
# LDFLAGS    link flags, set by the Makefile

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=${VERSION:-$(git describe --tags --always --dirty)}
platforms=${PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64}

rm -rf dist
mkdir -p dist

for platform in $platforms; do
	os=${platform%/*}
	arch=${platform#*/}
	name=ordered-helm-$version-$os-$arch
	binary=helm
	if [[ $os == windows ]]; then binary=helm.exe; fi

	echo "building $name" >&2
	mkdir "dist/$name"
	GOOS=$os GOARCH=$arch CGO_ENABLED=0 go build -trimpath -buildvcs=false \
		-ldflags "${LDFLAGS:-}" -o "dist/$name/$binary" ./cmd/helm
	go run ./scripts/sbom -version "$version" "dist/$name/$binary" >"dist/$name.cdx.json"
	cp LICENSE README.md SECURITY.md "dist/$name/"
	tar -C dist -czf "dist/$name.tar.gz" "$name"
	rm -r "dist/${name:?}"
done

cd dist
if command -v sha256sum >/dev/null; then
	sha256sum -- *.tar.gz *.cdx.json >checksums.txt
else
	shasum -a 256 -- *.tar.gz *.cdx.json >checksums.txt
fi
cat checksums.txt
