// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"
	"os"

	"github.com/Masterminds/semver/v3"
	helmaction "helm.sh/helm/v3/pkg/action"

	"github.com/ordered-helm/helm/internal/archive"
	"github.com/ordered-helm/helm/internal/chartloader"
)

// Package packs a chart directory into an archive (helm package). It has the fields of
// Helm's Package, with the same meaning (docs/reference.md, "Packages").
type Package helmaction.Package

// NewPackage returns a Package with Helm's defaults.
func NewPackage() *Package { return new(Package) }

// Run packs the chart in the directory at path, signs the archive if Sign is set, and
// returns the path of the archive. Unlike Helm's, the archive keeps every field of
// Chart.yaml. Annotations in Chart.yaml that are lists become JSON strings, so that stock
// Helm can load the chart. Run ignores its second parameter, which exists for compatibility
// with Helm.
func (p *Package) Run(path string, _ map[string]any) (string, error) {
	ch, err := chartloader.LoadDir(path)
	if err != nil {
		return "", err
	}
	if p.Version != "" {
		ch.Metadata.Version = p.Version
	}
	if _, err := semver.NewVersion(ch.Metadata.Version); err != nil {
		return "", err
	}
	if p.AppVersion != "" {
		ch.Metadata.AppVersion = p.AppVersion
	}
	if required := ch.Metadata.Dependencies; required != nil {
		if err := CheckDependencies(ch, required); err != nil {
			return "", err
		}
	}
	destination := p.Destination
	if destination == "." {
		if destination, err = os.Getwd(); err != nil {
			return "", err
		}
	}
	name, err := archive.Save(ch, destination)
	if err != nil {
		return "", fmt.Errorf("failed to save: %w", err)
	}
	if p.Sign {
		err = p.Clearsign(name)
	}
	return name, err
}

// Clearsign signs the chart archive with the given file name, and writes its provenance
// file next to it. It calls Helm's method.
func (p *Package) Clearsign(filename string) error {
	return (*helmaction.Package)(p).Clearsign(filename)
}
