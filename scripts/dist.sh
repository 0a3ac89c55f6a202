#!/usr/bin/env bash
# Copyright The Ordered Helm Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds helm for every platform of a release. For each platform, it writes an archive and the
# SBOM of the binary (CycloneDX) to dist/. An archive also contains manual pages, completion
# scripts, the definition of the kind Chart, the JSON schema of order files, and the chart of the
# controller. It also writes the checksums of all these files, and container images of helm and of the
# controller for Linux, as OCI image layouts, to dist/image and dist/image-controller. The same commit always results in the same files.
#
# VERSION    version in the names of the archives; the default is from git describe
# PLATFORMS  platforms to build for, as "os/arch ..."; by default all platforms of a release
# LDFLAGS    link flags, set by the Makefile

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=${VERSION:-$(git describe --tags --always --dirty)}
platforms=${PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64}

rm -rf dist
mkdir -p dist/share/man/man1 dist/share/completions

# The help contains the user's directories, and the manual pages contain a date.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
unset "${!HELM_@}"
echo "building manual pages and completion scripts" >&2
CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "${LDFLAGS:-}" -o dist/share/helm ./cmd/helm
helm() {
	# shellcheck disable=SC2088 # the help contains the tilde
	env HOME='~' HELM_CACHE_HOME='~/.cache/helm' HELM_CONFIG_HOME='~/.config/helm' HELM_DATA_HOME='~/.local/share/helm' dist/share/helm "$@"
}
helm docs --type man --dir dist/share/man/man1
for shell in bash zsh fish powershell; do
	helm completion "$shell" >"dist/share/completions/helm.$shell"
done
mv dist/share/completions/helm.powershell dist/share/completions/helm.ps1
rm dist/share/helm

# archive writes an archive of a directory in dist/, which depends only on the files in it.
archive() {
	local options=()
	if tar --version | grep -q 'GNU tar'; then
		options=(--sort=name --owner=0 --group=0 --numeric-owner --mode=u+rw,go+r-w,a+X "--mtime=@$SOURCE_DATE_EPOCH")
	fi
	tar -C dist ${options[@]+"${options[@]}"} -cf - "$1" | gzip -n >"dist/$1.tar.gz"
}

# The controller is a module of its own, with a workspace for builds of this checkout.
build_controller() {
	GOOS=linux GOARCH=$1 CGO_ENABLED=0 GOWORK=$PWD/cmd/helm-controller/go.work go -C cmd/helm-controller build \
		-trimpath -buildvcs=false -ldflags "${LDFLAGS:-}" -o "$PWD/dist/image-controller/helm-controller-$1" .
}

images=() controllers=()
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
	cp -R LICENSE README.md SECURITY.md docs/crds docs/schemas dist/share/man dist/share/completions "dist/$name/"
	mkdir "dist/$name/charts"
	cp -R cmd/helm-controller/chart "dist/$name/charts/helm-controller"
	archive "$name"
	if [[ $os == linux ]]; then
		mkdir -p dist/image
		mv "dist/$name/$binary" "dist/image/helm-$arch"
		images+=("$arch=dist/image/helm-$arch")
		build_controller "$arch"
		go run ./scripts/sbom -version "$version" "dist/image-controller/helm-controller-$arch" >"dist/helm-controller-$version-linux-$arch.cdx.json"
		controllers+=("$arch=dist/image-controller/helm-controller-$arch")
	fi
	rm -r "dist/${name:?}"
done
rm -r dist/share

if ((${#images[@]} > 0)); then
	echo "building the container images" >&2
	go run ./scripts/image -version "$version" -created "$SOURCE_DATE_EPOCH" -output dist/image "${images[@]}"
	rm dist/image/helm-*
	go run ./scripts/image -version "$version" -created "$SOURCE_DATE_EPOCH" -program helm-controller -output dist/image-controller "${controllers[@]}"
	rm dist/image-controller/helm-controller-*
fi

cd dist
if command -v sha256sum >/dev/null; then
	sha256sum -- *.tar.gz *.cdx.json >checksums.txt
else
	shasum -a 256 -- *.tar.gz *.cdx.json >checksums.txt
fi
cat checksums.txt
