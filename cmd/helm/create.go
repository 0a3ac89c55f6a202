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

const formatFlagName = "format"

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
and order.yaml declare about order and hooks.

--format helm.sh/v3 writes Chart.yaml as a Kubernetes resource of the kind Chart, in the
format helm.sh/v3. Such a chart is deployed in order by --wait=ordered. With --starter, the
default is the format of the starter.

    $ helm create shop
    $ helm create shop --format helm.sh/v3
    $ helm create shop --starter web
`

func newCreateCmd(a *app) *cobra.Command {
	var starterChart string
	var format starter.Format
	cmd := &cobra.Command{
		Use:               "create NAME",
		Short:             "create a new chart",
		Long:              createHelp,
		Args:              require.ExactArgs(1),
		ValidArgsFunction: completeFile(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if starterChart == "" {
				return a.createChart(args[0], format)
			}
			if !cmd.Flags().Changed(formatFlagName) {
				format = "" // that of the starter
			}
			return a.createFromStarter(args[0], starterChart, format)
		},
	}
	cmd.Flags().StringVarP(&starterChart, "starter", "p", "", "name or path of the chart to start from")
	formats := choiceFlag[starter.Format]{
		name: formatFlagName, typeName: "format", choices: []starter.Format{starter.V2, starter.V3},
		descriptions: []string{"as stock Helm writes it", "a Kubernetes resource"},
	}
	formats.usage = "[not in stock Helm] format of Chart.yaml: " + formats.list()
	formats.add(cmd, &format)
	return cmd
}

func (a *app) createChart(path string, format starter.Format) error {
	fmt.Fprintf(a.out, "Creating %s\n", path)
	chartutil.Stderr = a.out // the package reports there which files it overwrites
	dir, err := chartutil.Create(filepath.Base(path), filepath.Dir(path))
	if err == nil && format == starter.V3 {
		err = starter.Rewrite(dir)
	}
	return err
}

func (a *app) createFromStarter(path, starterChart string, format starter.Format) error {
	fmt.Fprintf(a.out, "Creating %s\n", path)
	parent, name := filepath.Dir(path), filepath.Base(path)
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
	}, parent, starterChart, format)
}
