// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/registry"

	"github.com/ordered-helm/helm/internal/archive"
)

// Pull downloads charts (helm pull). It has the fields of Helm's Pull, with the same
// meaning (docs/reference.md, "Packages").
type Pull helmaction.Pull

// PullOpt is an option for NewPullWithOpts.
type PullOpt func(*Pull)

// WithConfig sets the Configuration of a Pull.
func WithConfig(cfg *Configuration) PullOpt {
	return func(p *Pull) { helmaction.WithConfig(cfg)((*helmaction.Pull)(p)) }
}

// NewPull returns a Pull with Helm's defaults.
func NewPull() *Pull { return NewPullWithOpts() }

// NewPullWithOpts returns a Pull with the given options.
func NewPullWithOpts(opts ...PullOpt) *Pull {
	p := new(Pull)
	WithConfig(new(Configuration))(p) // without it, SetRegistryClient would panic
	for _, change := range opts {
		change(p)
	}
	return p
}

// SetRegistryClient sets the client that downloads charts from OCI registries.
func (p *Pull) SetRegistryClient(client *registry.Client) {
	(*helmaction.Pull)(p).SetRegistryClient(client)
}

// Run downloads the chart chartRef, which is a URL or the name of a chart in a repository.
// If Untar is set, it unpacks the chart into UntarDir, where it never overwrites a file.
// Run returns the text that the command prints.
func (p *Pull) Run(chartRef string) (string, error) {
	if !p.Untar {
		return p.download(chartRef, p.DestDir)
	}
	dir, err := os.MkdirTemp("", "helm-")
	if err != nil {
		return "", fmt.Errorf("failed to untar: %w", err)
	}
	out, err := p.download(chartRef, dir)
	if err == nil {
		err = p.unpack(chartRef, dir)
	}
	return out, errors.Join(err, os.RemoveAll(dir))
}

func (p *Pull) download(chartRef, dir string) (string, error) {
	helmPull := helmaction.Pull(*p)
	helmPull.Untar, helmPull.DestDir = false, dir
	return helmPull.Run(chartRef)
}

// unpack unpacks the downloaded archive, which is in dir, into UntarDir. It returns an
// error if UntarDir already contains a file or directory with the last part of chartRef as
// its name, or with the name of the chart.
func (p *Pull) unpack(chartRef, dir string) error {
	target := p.UntarDir
	if !filepath.IsAbs(target) {
		target = filepath.Join(p.DestDir, target)
	}
	requested := filepath.Join(target, filepath.Base(chartRef))
	if _, err := os.Stat(requested); err == nil {
		return fmt.Errorf("failed to untar: %w", &archive.ExistsError{Name: requested})
	}
	if err := os.MkdirAll(target, 0o755); err != nil {
		return fmt.Errorf("failed to untar (mkdir): %w", err)
	}
	saved, err := findArchive(dir)
	if err != nil {
		return err
	}
	err = archive.ExpandFile(target, saved)
	if exists, ok := errors.AsType[*archive.ExistsError](err); ok {
		return fmt.Errorf("failed to untar: %w", &archive.ExistsError{Name: filepath.Join(target, exists.Name)})
	}
	return err
}

// findArchive returns the path of the chart archive in dir, which contains only the archive
// and, if it is signed, its provenance file.
func findArchive(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".prov" {
			return filepath.Join(dir, e.Name()), nil
		}
	}
	return "", &fs.PathError{Op: "open", Path: dir, Err: fs.ErrNotExist}
}
