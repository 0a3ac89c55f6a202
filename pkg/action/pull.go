// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/downloader"
	"helm.sh/helm/v3/pkg/getter"
	"helm.sh/helm/v3/pkg/registry"

	"github.com/ordered-helm/helm/internal/archive"
	"github.com/ordered-helm/helm/internal/chartdownload"
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
func (p *Pull) Run(chartRef string) (string, error) { return p.run(chartRef, p.downloadWithHelm) }

// PullClients contains what RunWithClients downloads charts with.
type PullClients struct {
	// Getters download files, by the schemes of their URLs.
	Getters getter.Providers
	// Registry downloads charts from OCI registries. It can be nil.
	Registry *registry.Client
}

// RunWithClients is like Run, but downloads with the given clients instead of Helm's getters and those
// of the plugins in Settings (docs/reference.md, "Lua plugins").
func (p *Pull) RunWithClients(chartRef string, clients PullClients) (string, error) {
	return p.run(chartRef, func(chartRef, dir string) (string, error) {
		return p.downloadWith(clients, chartRef, dir)
	})
}

// run downloads the chart chartRef with a function that downloads it into a directory.
func (p *Pull) run(chartRef string, download func(chartRef, dir string) (string, error)) (string, error) {
	if !p.Untar {
		return download(chartRef, p.DestDir)
	}
	dir, err := os.MkdirTemp("", "helm-")
	if err != nil {
		return "", fmt.Errorf("failed to untar: %w", err)
	}
	out, err := download(chartRef, dir)
	if err == nil {
		err = p.unpack(chartRef, dir)
	}
	return out, errors.Join(err, os.RemoveAll(dir))
}

func (p *Pull) downloadWithHelm(chartRef, dir string) (string, error) {
	helmPull := helmaction.Pull(*p)
	helmPull.Untar, helmPull.DestDir = false, dir
	return helmPull.Run(chartRef)
}

func (p *Pull) downloadWith(clients PullClients, chartRef, dir string) (string, error) {
	var out strings.Builder
	o := chartdownload.Options{Chart: p.ChartPathOptions, Settings: p.Settings, Getters: clients.Getters, Registry: clients.Registry, Out: &out}
	switch {
	case p.Verify:
		o.Verify = downloader.VerifyAlways
	case p.VerifyLater:
		o.Verify = downloader.VerifyLater
	}
	_, verified, err := chartdownload.Download(chartRef, dir, o)
	if err == nil && p.Verify {
		for name := range verified.SignedBy.Identities {
			fmt.Fprintf(&out, "Signed by: %v\n", name)
		}
		fmt.Fprintf(&out, "Using Key With Fingerprint: %X\nChart Hash Verified: %s\n", verified.SignedBy.PrimaryKey.Fingerprint, verified.FileHash)
	}
	return out.String(), err
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
