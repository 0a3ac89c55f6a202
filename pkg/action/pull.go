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

// Pull downloads charts. It has the fields of Helm's Pull, with the same meaning
// (docs/reference.md, "Packages").
type Pull helmaction.Pull

// PullOpt is an option for NewPullWithOpts.
type PullOpt func(*Pull)

// WithConfig sets the configuration of a Pull.
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

// SetRegistryClient sets the client for OCI registries.
func (p *Pull) SetRegistryClient(client *registry.Client) {
	(*helmaction.Pull)(p).SetRegistryClient(client)
}

// Run downloads the chart, and unpacks it if Untar is set. It returns the text that the
// command prints.
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
	helms := helmaction.Pull(*p)
	helms.Untar, helms.DestDir = false, dir
	return helms.Run(chartRef)
}

// unpack unpacks the downloaded archive, which is in dir, into UntarDir. It never
// overwrites anything: it returns an error if UntarDir already contains a file or directory
// with the name in chartRef or with the name of the chart.
func (p *Pull) unpack(chartRef, dir string) error {
	target := p.UntarDir
	if !filepath.IsAbs(target) {
		target = filepath.Join(p.DestDir, target)
	}
	asked := filepath.Join(target, filepath.Base(chartRef))
	if _, err := os.Stat(asked); err == nil {
		return fmt.Errorf("failed to untar: %w", &archive.ExistsError{Name: asked})
	}
	if err := os.MkdirAll(target, 0o755); err != nil {
		return fmt.Errorf("failed to untar (mkdir): %w", err)
	}
	saved, err := downloaded(dir)
	if err != nil {
		return err
	}
	err = archive.ExpandFile(target, saved)
	if there, ok := errors.AsType[*archive.ExistsError](err); ok {
		return fmt.Errorf("failed to untar: %w", &archive.ExistsError{Name: filepath.Join(target, there.Name)})
	}
	return err
}

// downloaded returns the path of the archive in a directory that contains only the archive
// and, possibly, its provenance file.
func downloaded(dir string) (string, error) {
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
