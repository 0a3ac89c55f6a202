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

const pullHelp = `
Download charts from a repository, a registry or a URL.

    $ helm pull example/shop --version ^1.2
    $ helm pull oci://example.com/charts/shop --version 1.2.3 --untar
    $ helm pull shop --repo https://example.com/charts -d packages

A chart is saved as a package, or unpacked with --untar. With --verify the package must
be signed by a key in the keyring; otherwise it is not unpacked.
`

func newPullCmd(a *app) *cobra.Command {
	client := action.NewPullWithOpts(action.WithConfig(a.config))
	cmd := &cobra.Command{
		Use:     "pull [chart URL | repo/chartname] [...]",
		Short:   "download charts",
		Long:    pullHelp,
		Aliases: []string{"fetch"},
		Args:    require.MinimumNArgs(1),
		// As in Helm, only the first argument is completed, although there can be several.
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return a.completeRemoteChart(cmd, args, word)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.pull(cmd.Context(), client, args)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&client.Devel, "devel", false, "allow development versions, like --version '>0.0.0-0'; --version takes precedence")
	f.BoolVar(&client.Untar, "untar", false, "unpack the chart")
	f.BoolVar(&client.VerifyLater, "prov", false, "also download the provenance file, without verifying it")
	f.StringVar(&client.UntarDir, "untardir", ".", "directory in which --untar creates the directory of the chart; relative to --destination")
	f.StringVarP(&client.DestDir, "destination", "d", ".", "directory to write to")
	a.addChartPathFlags(cmd, &client.ChartPathOptions, func() int { return 0 })
	return cmd
}

func (a *app) pull(ctx context.Context, client *action.Pull, references []string) error {
	client.Settings = a.settings
	if client.Version == "" && client.Devel {
		a.debugf("setting version to >0.0.0-0")
		client.Version = ">0.0.0-0"
	}
	if err := a.setRegistry(&client.ChartPathOptions, client.SetRegistryClient); err != nil {
		return err
	}
	for _, reference := range references {
		output, err := a.pullChart(ctx, client, reference)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprint(a.out, output); err != nil {
			return err
		}
	}
	return nil
}
