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
Make a folder with a new chart in it, ready to be installed and changed:

    shop/
    ├── .helmignore   what is not packed
    ├── Chart.yaml    name, version and dependencies
    ├── values.yaml   default values
    ├── charts/       the charts that it depends on
    └── templates/    what is deployed, and its tests

NAME may be a path, whose folder must exist. Files of a chart that is already there
are overwritten, others are left alone.

With --starter the chart is made from one of your own instead: a chart in which
<CHARTNAME> stands for the new name. It is a folder, given by its absolute path or by
its name below $HELM_DATA_HOME/starters. Of its Chart.yaml the new chart keeps what
it says about order and hooks.
`

func newCreateCmd(a *app) *cobra.Command {
	var pattern string
	cmd := &cobra.Command{
		Use:               "create NAME",
		Short:             "make a new chart",
		Long:              createHelp,
		Args:              require.ExactArgs(1),
		ValidArgsFunction: completeFile(),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.createChart(args[0], pattern)
		},
	}
	cmd.Flags().StringVarP(&pattern, "starter", "p", "", "name or path of the chart to begin with")
	return cmd
}

func (a *app) createChart(path, pattern string) error {
	fmt.Fprintf(a.out, "Creating %s\n", path)
	parent, name := filepath.Dir(path), filepath.Base(path)
	if pattern == "" {
		chartutil.Stderr = a.out // where Helm's package says what it overwrites
		_, err := chartutil.Create(name, parent)
		return err
	}
	if !filepath.IsAbs(pattern) {
		pattern = helmpath.DataPath("starters", pattern)
	}
	return starter.Create(&chart.Metadata{
		APIVersion:  chart.APIVersionV2,
		Name:        name,
		Description: "A Helm chart for Kubernetes",
		Type:        "application",
		Version:     "0.1.0",
		AppVersion:  "0.1.0",
	}, parent, pattern)
}
