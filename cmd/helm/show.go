// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"

	"github.com/ordered-helm/helm/pkg/action"
)

const showHelp = `
Print information about a chart. The chart is a directory, an archive, a URL, or a chart in
a repository or registry:

    $ helm show chart ./shop
    $ helm show values example/shop --version 1.2.0
    $ helm show all oci://registry.example.com/charts/shop
`

const showAllHelp = `
Print all information about a chart: Chart.yaml, values.yaml, its README and its
CustomResourceDefinitions (CRDs).

    $ helm show all ./shop
`

const showChartHelp = `
Print a chart's Chart.yaml.

    $ helm show chart ./shop
`

const showValuesHelp = `
Print the values.yaml of a chart, or the part of it that a JSONPath expression selects.

    $ helm show values ./shop
    $ helm show values ./shop --jsonpath '{.image.tag}'
`

const showReadmeHelp = `
Print a chart's README.

    $ helm show readme ./shop
`

const showCRDsHelp = `
Print the CustomResourceDefinitions (CRDs) in the crds directories of a chart and its
subcharts.

    $ helm show crds ./shop
`

const showScriptsHelp = `
Print the Lua scripts of a chart and its subcharts, and for which permissions they ask.
Installing the chart would run them.

    $ helm show scripts ./shop
`

func newShowCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show",
		Aliases: []string{"inspect"},
		Short:   "print information about a chart",
		Long:    showHelp,
		Args:    require.NoArgs,
	}
	for _, part := range []struct {
		use, short, long string
		format           action.ShowOutputFormat
	}{
		{"all [CHART]", "print all information about a chart", showAllHelp, action.ShowAll},
		{"readme [CHART]", "print a chart's README", showReadmeHelp, action.ShowReadme},
		{"values [CHART]", "print a chart's values", showValuesHelp, action.ShowValues},
		{"chart [CHART]", "print a chart's Chart.yaml", showChartHelp, action.ShowChart},
		{"crds [CHART]", "print a chart's CustomResourceDefinitions (CRDs)", showCRDsHelp, action.ShowCRDs},
		{"scripts [CHART]", "print a chart's scripts [not in stock Helm]", showScriptsHelp, action.ShowScripts},
	} {
		sub := newShowPartCmd(a, part.format)
		sub.Use, sub.Short, sub.Long = part.use, part.short, part.long
		if part.format == action.ShowScripts {
			sub.Annotations = map[string]string{additionAnnotation: "true"}
		}
		cmd.AddCommand(sub)
	}
	return cmd
}

func newShowPartCmd(a *app, format action.ShowOutputFormat) *cobra.Command {
	client := action.NewShow(format)
	cmd := &cobra.Command{
		Args:              require.ExactArgs(1),
		ValidArgsFunction: completeUpTo(1, a.completeChartOrFile),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.show(cmd.Context(), client, args[0])
		},
	}
	f := cmd.Flags()
	f.BoolVar(&client.Devel, "devel", false, "also consider development versions; has no effect with --version")
	if format == action.ShowValues {
		f.StringVar(&client.JSONPathTemplate, "jsonpath", "", "print only the values that this JSONPath expression selects")
	}
	a.addChartPathFlags(cmd, &client.ChartPathOptions, func() int { return 0 })
	return cmd
}

func (a *app) show(ctx context.Context, client *action.Show, reference string) error {
	if err := a.setRegistry(&client.ChartPathOptions, client.SetRegistryClient); err != nil {
		return err
	}
	path, err := a.locateChart(ctx, &chartSource{ChartPathOptions: &client.ChartPathOptions, devel: client.Devel}, reference)
	if err != nil {
		return err
	}
	text, err := client.Run(path)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(a.out, text)
	return err
}
