#!/usr/bin/env bash
# Copyright The Ordered Helm Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds helm for every platform of a release. For each platform, it writes an archive and the
# SBOM of the binary (CycloneDX) to dist/. It also writes the checksums of all these files.
#
# VERSION    version in the names of the archives; the default is from git describe
# PLATFORMS  platforms to build for, as "os/arch ..."; by default all platforms of a release
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
