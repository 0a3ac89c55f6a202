// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/helmpath"

	"github.com/ordered-helm/helm/internal/starter"
)

const createHelp = `
Create a directory with a new chart that can be installed and edited:

    shop/
    ├── .helmignore   files to leave out of the package
    ├── Chart.yaml    name, version and dependencies
    ├── values.yaml   default values
    ├── charts/       charts that this chart depends on
    └── templates/    templates of resources and tests

NAME can be a path in an existing directory. Existing files of the same name are
overwritten; all others are left unchanged.

With --starter, the chart is created from a chart of your own in which <CHARTNAME>
stands for the new name. A starter is a directory, given by its absolute path or by its
name in $HELM_DATA_HOME/starters. The new chart keeps what the starter's Chart.yaml
declares about order and hooks.
`

func newCreateCmd(a *app) *cobra.Command {
	var starterChart string
	cmd := &cobra.Command{
		Use:               "create NAME",
		Short:             "create a new chart",
		Long:              createHelp,
		Args:              require.ExactArgs(1),
		ValidArgsFunction: completeFile(),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.createChart(args[0], starterChart)
		},
	}
	cmd.Flags().StringVarP(&starterChart, "starter", "p", "", "name or path of the chart to start from")
	return cmd
}

func (a *app) createChart(path, starterChart string) error {
	fmt.Fprintf(a.out, "Creating %s\n", path)
	parent, name := filepath.Dir(path), filepath.Base(path)
	if starterChart == "" {
		chartutil.Stderr = a.out // the package reports there which files it overwrites
		_, err := chartutil.Create(name, parent)
		return err
	}
	if !filepath.IsAbs(starterChart) {
		starterChart = helmpath.DataPath("starters", starterChart)
	}
	return starter.Create(&chart.Metadata{
		APIVersion:  chart.APIVersionV2,
		Name:        name,
		Description: "A Helm chart for Kubernetes",
		Type:        "application",
		Version:     "0.1.0",
		AppVersion:  "0.1.0",
	}, parent, starterChart)
}
