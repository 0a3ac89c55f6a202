// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"
	"helm.sh/helm/v3/pkg/cli/output"

	"github.com/ordered-helm/helm/pkg/action"
)

const getValuesHelp = `
Print the values that were supplied for a release; with --all, merged with the default
values of the chart.

    $ helm get values shop
    $ helm get values shop --all -o json
`

func newGetValuesCmd(a *app) *cobra.Command {
	client := action.NewGetValues(a.config)
	cmd := &cobra.Command{
		Use:               "values RELEASE_NAME",
		Short:             "print the values of a release",
		Long:              getValuesHelp,
		Args:              require.ExactArgs(1),
		ValidArgsFunction: a.completeRelease(),
	}
	f := cmd.Flags()
	a.addRevisionFlag(cmd, &client.Version)
	f.BoolVarP(&client.AllValues, "all", "a", false, "print all computed values")
	out := addOutputFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		vals, err := client.Run(args[0])
		if err != nil {
			return err
		}
		return out.format.Write(a.out, valuesPrinter{vals: vals, computed: client.AllValues})
	}
	return cmd
}

type valuesPrinter struct {
	vals     map[string]any
	computed bool
}

func (p valuesPrinter) WriteTable(out io.Writer) error {
	title := "USER-SUPPLIED VALUES:"
	if p.computed {
		title = "COMPUTED VALUES:"
	}
	if _, err := fmt.Fprintln(out, title); err != nil {
		return err
	}
	return output.EncodeYAML(out, p.vals)
}

func (p valuesPrinter) WriteJSON(out io.Writer) error { return output.EncodeJSON(out, p.vals) }
func (p valuesPrinter) WriteYAML(out io.Writer) error { return output.EncodeYAML(out, p.vals) }
