// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/cli/values"
	"helm.sh/helm/v3/pkg/registry"

	"github.com/ordered-helm/helm/internal/library"
	"github.com/ordered-helm/helm/pkg/action"
	"github.com/ordered-helm/helm/pkg/chart/loader"
)

// installActionInput holds the flags that install, template and dag have in common, and the
// install action, which these commands run with the options that the flags set.
type installActionInput struct {
	app      *app
	client   *action.Install
	values   values.Options
	output   *formatFlag // nil if the command prints only text
	wait     *waitOptions
	progress progressFlags
}

func newInstallActionInput(a *app) *installActionInput {
	return &installActionInput{app: a, client: action.NewInstall(a.config)}
}

// chartWithValues is a chart with the values that the flags set for it.
type chartWithValues struct {
	chart  *chart.Chart
	values map[string]any
}

// chartSource holds the flags that say where to find a chart and its dependencies.
type chartSource struct {
	*action.ChartPathOptions
	devel        bool             // allow development versions
	fetchMissing bool             // fetch dependencies that are not in the charts directory
	registry     *registry.Client // for fetching dependencies
}

// load loads the chart that the arguments name, and merges the values from the flags. It sets
// the name and namespace of the release in the action.
func (in *installActionInput) load(ctx context.Context, args []string) (*chartWithValues, error) {
	name, reference, err := in.client.NameAndChart(args)
	if err != nil {
		return nil, err
	}
	in.client.ReleaseName = name

	from := &chartSource{
		ChartPathOptions: &in.client.ChartPathOptions,
		devel:            in.client.Devel,
		fetchMissing:     in.client.DependencyUpdate,
		registry:         in.client.GetRegistryClient(),
	}
	path, err := in.app.locateChart(ctx, from, reference)
	if err != nil {
		return nil, err
	}
	loaded, err := in.app.loadWithValues(ctx, from, path, &in.values)
	if err != nil {
		return nil, err
	}
	in.client.Namespace = in.app.settings.Namespace()
	return loaded, checkDryRunOption(in.client.DryRunOption)
}

// loadWithValues loads the chart at path, and merges the values in options.
func (a *app) loadWithValues(ctx context.Context, from *chartSource, path string, options *values.Options) (*chartWithValues, error) {
	merged, err := options.MergeValues(a.getters(ctx))
	if err != nil {
		return nil, err
	}
	chrt, err := a.loadChart(ctx, from, path)
	return &chartWithValues{chart: chrt, values: merged}, err
}

// locateChart returns the path of the chart that reference refers to, such as a path, a URL or
// the name of a chart in a repository. It downloads the chart if necessary.
func (a *app) locateChart(ctx context.Context, from *chartSource, reference string) (string, error) {
	a.debugf("Original chart version: %q", from.Version)
	if from.Version == "" && from.devel {
		a.debugf("setting version to >0.0.0-0")
		from.Version = ">0.0.0-0"
	}
	path, err := a.locateOrDownload(ctx, from.ChartPathOptions, reference)
	if err != nil {
		return "", err
	}
	a.debugf("CHART PATH: %s\n", path)
	return path, nil
}

// loadChart loads the chart at path. It returns an error if the chart cannot be installed, for
// example because it is a library chart, or if dependencies are missing and
// from.fetchMissing is false.
func (a *app) loadChart(ctx context.Context, from *chartSource, path string) (*chart.Chart, error) {
	chrt, err := loader.Load(path)
	if err != nil {
		return nil, err
	}
	if kind := chrt.Metadata.Type; kind != "" && kind != "application" {
		return nil, fmt.Errorf("%s charts are not installable", kind)
	}
	if chrt.Metadata.Deprecated {
		a.warnf("This chart is deprecated")
	}
	a.warnAboutApplications(chrt)
	required := chrt.Metadata.Dependencies
	if required == nil {
		return chrt, nil
	}
	missing := action.CheckDependencies(chrt, required)
	switch {
	case missing == nil:
		return chrt, nil
	case !from.fetchMissing:
		return nil, fmt.Errorf("An error occurred while checking for chart dependencies. "+ //nolint:staticcheck // Helm's message
			"You may need to run `helm dependency build` to fetch missing dependencies: %w", missing)
	}
	if err := a.dependenciesOf(ctx, path, from.Keyring, from.registry).Update(ctx); err != nil {
		return nil, err
	}
	chrt, err = loader.Load(path)
	if err != nil {
		return nil, fmt.Errorf("failed reloading chart after repo update: %w", err)
	}
	return chrt, nil
}

// warnAboutApplications prints a warning for each chart that is used as a library, but is not a
// library chart.
func (a *app) warnAboutApplications(ch *chart.Chart) {
	for _, o := range library.ApplicationCharts(ch) {
		a.warnf("%s uses %s as a library, which is not a library chart: only its named templates are used", o.UsedBy, o.Name)
	}
}

func checkDryRunOption(option string) error {
	switch option {
	case "false", "true", "none", "client", "server":
		return nil
	default:
		//nolint:staticcheck // Helm's message
		return errors.New("Invalid dry-run flag. Flag must one of the following: false, true, none, client, server")
	}
}
