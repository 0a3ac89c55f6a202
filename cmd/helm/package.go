// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ordered-helm/helm/internal/library"
	"github.com/ordered-helm/helm/pkg/action"
	"github.com/ordered-helm/helm/pkg/chart/loader"
)

const packageHelp = `
Package charts into archives that can be installed, pushed to a registry, or added to
a chart repository.

    $ helm package ./shop
    $ helm package ./shop --version 1.3.0 --app-version 2026.1 -d dist
    $ helm package ./shop --sign --key 'Shop Team' --keyring ~/.gnupg/secring.gpg

An archive contains the complete Chart.yaml. Lists in annotations are converted to JSON
strings, so that stock Helm can also read the archive.
`

func newPackageCmd(a *app) *cobra.Command {
	var o registryOptions
	client := action.NewPackage()
	cmd := &cobra.Command{
		Use:   "package [CHART_PATH] [...]",
		Short: "package a chart into an archive",
		Long:  packageHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.pack(cmd.Context(), client, o, args)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&client.Sign, "sign", false, "sign the archive with a PGP key")
	f.StringVar(&client.Key, "key", "", "name of the key to sign with")
	f.StringVar(&client.Keyring, "keyring", defaultKeyring(), "file with the key to sign with")
	f.StringVar(&client.PassphraseFile, "passphrase-file", "", `file with the passphrase of the key, or "-" for standard input`)
	f.StringVar(&client.Version, "version", "", "version of the packaged chart")
	f.StringVar(&client.AppVersion, "app-version", "", "appVersion of the packaged chart")
	f.StringVarP(&client.Destination, "destination", "d", ".", "directory to write the archive to")
	f.BoolVarP(&client.DependencyUpdate, "dependency-update", "u", false, "update the chart's dependencies first")
	addRegistryFlags(f, &o)
	return cmd
}

func (a *app) pack(ctx context.Context, client *action.Package, o registryOptions, args []string) error {
	switch {
	case len(args) == 0:
		return errors.New("need at least one argument, the path to the chart")
	case client.Sign && client.Key == "":
		return errors.New("--key is required for signing a package")
	case client.Sign && client.Keyring == "":
		return errors.New("--keyring is required for signing a package")
	}
	client.RepositoryConfig = a.settings.RepositoryConfig
	client.RepositoryCache = a.settings.RepositoryCache
	fetch, err := a.dependencyManager(ctx, o, client.Keyring)
	if err != nil {
		return err
	}
	fetch.Out = io.Discard
	for _, arg := range args {
		path, err := filepath.Abs(arg)
		if err != nil {
			return err
		}
		if _, err := os.Stat(arg); err != nil {
			return err
		}
		if client.DependencyUpdate {
			fetch.ChartPath = path
			if err := fetch.Update(ctx); err != nil {
				return err
			}
		}
		name, err := client.Run(path, nil)
		if err != nil {
			return err
		}
		if err := a.warnAboutLibraries(path); err != nil {
			return err
		}
		fmt.Fprintf(a.out, "Successfully packaged chart and saved it to: %s\n", name)
	}
	return nil
}

// warnAboutLibraries prints warnings about the libraries of the chart in a directory.
func (a *app) warnAboutLibraries(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, library.Directory)); err != nil {
		return nil //nolint:nilerr // the chart has no libraries
	}
	ch, err := loader.LoadDir(dir)
	if err == nil {
		a.warnAboutApplications(ch)
	}
	return err
}
