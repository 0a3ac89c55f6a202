// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/cli/values"
	"helm.sh/helm/v3/pkg/downloader"
	"helm.sh/helm/v3/pkg/getter"

	"github.com/ordered-helm/helm/pkg/action"
	"github.com/ordered-helm/helm/pkg/chart/loader"
)

// chartInput is what install, template and dag are told on the command line:
// a chart with its values, and the action that works on them.
type chartInput struct {
	app            *app
	client         *action.Install
	values         values.Options
	output         *formatFlag // nil for a command that prints text alone
	checkReadiness func() error
}

// loadedChart is a chart ready to be installed, with the values for it.
type loadedChart struct {
	chart  *chart.Chart
	values map[string]any
}

// useRegistry gives the action a registry client that fits its flags.
func (in *chartInput) useRegistry() error {
	client, err := in.app.registryClient(registryOptionsFrom(&in.client.ChartPathOptions))
	if err != nil {
		return fmt.Errorf("missing registry client: %w", err)
	}
	in.client.SetRegistryClient(client)
	return nil
}

// load finds and loads the chart that the arguments name, merges the values,
// and fills in the release's name and namespace.
func (in *chartInput) load(args []string) (*loadedChart, error) {
	in.app.debugf("Original chart version: %q", in.client.Version)
	if in.client.Version == "" && in.client.Devel {
		in.app.debugf("setting version to >0.0.0-0")
		in.client.Version = ">0.0.0-0"
	}
	name, reference, err := in.client.NameAndChart(args)
	if err != nil {
		return nil, err
	}
	in.client.ReleaseName = name

	path, err := in.client.LocateChart(reference, in.app.settings)
	if err != nil {
		return nil, err
	}
	in.app.debugf("CHART PATH: %s\n", path)

	vals, err := in.values.MergeValues(getter.All(in.app.settings))
	if err != nil {
		return nil, err
	}
	chrt, err := in.loadChart(path)
	if err != nil {
		return nil, err
	}
	in.client.Namespace = in.app.settings.Namespace()
	if err := checkDryRunOption(in.client.DryRunOption); err != nil {
		return nil, err
	}
	return &loadedChart{chart: chrt, values: vals}, nil
}

// loadChart loads the chart at a path, and makes sure that it can be installed
// and has its dependencies.
func (in *chartInput) loadChart(path string) (*chart.Chart, error) {
	chrt, err := loader.Load(path)
	if err != nil {
		return nil, err
	}
	if kind := chrt.Metadata.Type; kind != "" && kind != "application" {
		return nil, fmt.Errorf("%s charts are not installable", kind)
	}
	if chrt.Metadata.Deprecated {
		in.app.warnf("This chart is deprecated")
	}
	required := chrt.Metadata.Dependencies
	if required == nil {
		return chrt, nil
	}
	missing := action.CheckDependencies(chrt, required)
	switch {
	case missing == nil:
		return chrt, nil
	case !in.client.DependencyUpdate:
		return nil, fmt.Errorf("An error occurred while checking for chart dependencies. "+ //nolint:staticcheck // stock's words
			"You may need to run `helm dependency build` to fetch missing dependencies: %w", missing)
	}
	if err := in.updateDependencies(path); err != nil {
		return nil, err
	}
	chrt, err = loader.Load(path)
	if err != nil {
		return nil, fmt.Errorf("failed reloading chart after repo update: %w", err)
	}
	return chrt, nil
}

func (in *chartInput) updateDependencies(path string) error {
	settings := in.app.settings
	manager := &downloader.Manager{
		Out:              in.app.out,
		ChartPath:        path,
		Keyring:          in.client.Keyring,
		Getters:          getter.All(settings),
		RepositoryConfig: settings.RepositoryConfig,
		RepositoryCache:  settings.RepositoryCache,
		Debug:            settings.Debug,
		RegistryClient:   in.client.GetRegistryClient(),
	}
	return manager.Update()
}

func checkDryRunOption(option string) error {
	switch option {
	case "false", "true", "none", "client", "server":
		return nil
	default:
		//nolint:staticcheck // stock's words
		return errors.New("Invalid dry-run flag. Flag must one of the following: false, true, none, client, server")
	}
}
