// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package pluginarchive installs helm plugins from archives on web servers.
// Helm's own installer takes archives of any size, leaves what it unpacked when
// it fails, and cannot install a second time what was uninstalled.
package pluginarchive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"helm.sh/helm/v3/pkg/plugin"
	"helm.sh/helm/v3/pkg/plugin/installer"

	"github.com/ordered-helm/helm/internal/chartrepo"
)

// DefaultMaxSize is how many bytes the files of an archive may have together.
const DefaultMaxSize = 1 << 30

// Installer installs a plugin from a .tar.gz archive at a URL. It is an
// installer.Installer.
type Installer struct {
	// MaxSize is how many bytes the archive's files may have together.
	MaxSize int64

	// Helm's interface has no context, so the installer keeps the one that it was
	// made for.
	ctx          context.Context
	source, path string
}

var _ installer.Installer = (*Installer)(nil)

// NewInstaller returns an installer of the plugin at the URL source into the
// folder path, which downloads until ctx ends.
func NewInstaller(ctx context.Context, source, path string) *Installer {
	return &Installer{MaxSize: DefaultMaxSize, ctx: ctx, source: source, path: path}
}

// Path returns the folder that the plugin is installed into.
func (i *Installer) Path() string { return i.path }

// Install downloads and unpacks the plugin. The folder above Path must exist.
// When it fails nothing is left behind. An archive without a plugin.yaml is
// installer.ErrMissingMetadata.
func (i *Installer) Install() (err error) {
	http, err := chartrepo.NewGetter(i.ctx, i.MaxSize)
	if err != nil {
		return err
	}
	archive, err := http.Get(i.source)
	if err != nil {
		return err
	}
	// Beside the target, so that it can be moved there; and one level deeper than
	// plugins are looked for.
	temporary, err := os.MkdirTemp(filepath.Dir(i.path), ".installing-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()

	unpacked := filepath.Join(temporary, "plugin")
	if err := unpack(archive, unpacked, i.MaxSize); err != nil {
		return fmt.Errorf("extracting files from archive: %w", err)
	}
	if _, err := os.Stat(filepath.Join(unpacked, plugin.PluginFileName)); err != nil {
		return installer.ErrMissingMetadata
	}
	return os.Rename(unpacked, i.path)
}

// Update always fails: an archive is of one version.
func (i *Installer) Update() error {
	return fmt.Errorf("update a plugin that was installed from an archive: %w", errors.ErrUnsupported)
}
