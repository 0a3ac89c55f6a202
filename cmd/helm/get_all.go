// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"
	"helm.sh/helm/v3/pkg/cli/output"

	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/pkg/action"
)

const getAllHelp = `
Print all stored data of a release: status, supplied and computed values, hooks,
manifest and notes.

    $ helm get all shop
    $ helm get all shop --template '{{.Release.Name}} {{.Release.Version}}'
`

func newGetAllCmd(a *app) *cobra.Command {
	var format string
	client := action.NewGet(a.config)
	cmd := &cobra.Command{
		Use:               "all RELEASE_NAME",
		Short:             "print all stored data of a release",
		Long:              getAllHelp,
		Args:              require.ExactArgs(1),
		ValidArgsFunction: a.completeRelease(),
		RunE: func(_ *cobra.Command, args []string) error {
			rel, err := client.Run(args[0])
			if err != nil {
				return err
			}
			if format != "" {
				return executeTemplate(a.out, format, map[string]any{"Release": orderrecord.WithoutRecord(rel)})
			}
			return output.Table.Write(a.out, &releasePrinter{release: rel, details: true, chart: true})
		},
	}
	a.addRevisionFlag(cmd, &client.Version)
	cmd.Flags().StringVar(&format, "template", "", "Go template to print the release with, such as {{.Release.Name}}")
	return cmd
}
