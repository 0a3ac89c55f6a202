// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"
	"helm.sh/helm/v3/pkg/getter"
	"helm.sh/helm/v3/pkg/plugin"
	"helm.sh/helm/v3/pkg/plugin/installer"
)

const pluginInstallHelp = `
Install a plugin from

- a directory, which is linked:       helm plugin install ./hello
- an archive:                         helm plugin install https://example.com/hello-1.2.3.tgz
- a repository of a version control
  system, such as git:                 helm plugin install https://example.com/helm-hello --version ^1.2

A plugin can have a hook that runs when it is installed. Plugins run with your
permissions: install only plugins that you trust.
`

func newPluginInstallCmd(a *app) *cobra.Command {
	var version string
	cmd := &cobra.Command{
		Use:               "install [options] <path|url>",
		Short:             "install a plugin",
		Long:              pluginInstallHelp,
		Aliases:           []string{"add"},
		Args:              require.ExactArgs(1),
		ValidArgsFunction: completeFile(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.installPlugin(cmd.Context(), args[0], version)
		},
	}
	cmd.Flags().StringVar(&version, "version", "", "version, or range of versions, of a plugin from a version control system (default: the latest)")
	return cmd
}

func (a *app) installPlugin(ctx context.Context, source, version string) error {
	installer.Debug = a.settings.Debug
	from, err := installer.NewForSource(source, version)
	if err != nil {
		return err
	}
	if archive, ok := from.(*installer.HTTPInstaller); ok {
		from = &archiveInstaller{HTTPInstaller: archive, app: a}
	}
	if err := a.checkPluginPath(source, from.Path()); err != nil {
		return err
	}
	p, err := a.installAndLoad(from)
	if err != nil {
		return err
	}
	if err := a.runPluginHook(ctx, p, plugin.Install); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "Installed plugin: %s\n", p.Metadata.Name)
	return err
}

// archiveInstaller installs a plugin from an archive on a web server. Unlike Helm's
// HTTPInstaller, it installs into the directory $HELM_PLUGINS, and leaves nothing in the
// cache, because Helm cannot install a plugin that is already in its cache.
type archiveInstaller struct {
	*installer.HTTPInstaller
	app *app
}

// Path returns the directory into which the plugin is installed.
func (i *archiveInstaller) Path() string {
	return filepath.Join(i.app.settings.PluginsDirectory, i.PluginName)
}

// Install downloads the archive, unpacks it into a temporary directory next to Path, and
// then renames that directory to Path.
func (i *archiveInstaller) Install() (err error) {
	client, err := getter.All(i.app.settings).ByScheme("http")
	if err != nil {
		return err
	}
	archive, err := client.Get(i.Source)
	if err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(filepath.Dir(i.Path()), ".installing-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()

	unpacked := filepath.Join(temporary, "plugin") // Helm does not search for plugins this deep
	if err := new(installer.TarGzExtractor).Extract(archive, unpacked); err != nil {
		return fmt.Errorf("extracting files from archive: %w", err)
	}
	if _, err := os.Stat(filepath.Join(unpacked, plugin.PluginFileName)); err != nil {
		return installer.ErrMissingMetadata
	}
	return os.Rename(unpacked, i.Path())
}

// checkPluginPath returns an error if path, to which the plugin from source will be
// installed, is not directly in the plugin directory.
func (a *app) checkPluginPath(source, path string) error {
	if filepath.Dir(path) == filepath.Clean(a.settings.PluginsDirectory) {
		return nil
	}
	return fmt.Errorf("the last part of %q cannot be the name of a directory", source)
}

// installAndLoad installs a plugin and loads it. If that fails, it deletes the plugin again,
// because a plugin that cannot be loaded would prevent all other plugins from being loaded.
func (a *app) installAndLoad(from installer.Installer) (_ *plugin.Plugin, err error) {
	if _, missing := os.Lstat(from.Path()); errors.Is(missing, os.ErrNotExist) {
		defer func() {
			if err != nil {
				err = errors.Join(err, os.RemoveAll(from.Path()))
			}
		}()
	}
	if err := installer.Install(from); err != nil {
		return nil, err
	}
	a.debugf("loading plugin from %s", from.Path())
	p, err := plugin.LoadDir(from.Path())
	if err != nil {
		return nil, fmt.Errorf("the plugin was not installed, because it cannot be loaded: %w", err)
	}
	if other := findPlugin(a.plugins, p.Metadata.Name); other != nil {
		return nil, fmt.Errorf("two plugins claim the name %q at %q and %q; uninstall the other one first",
			p.Metadata.Name, other.Dir, from.Path())
	}
	return p, nil
}
