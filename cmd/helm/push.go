// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"
	"helm.sh/helm/v3/pkg/pusher"

	"github.com/ordered-helm/helm/pkg/action"
)

const pushHelp = `
Upload a packaged chart to an OCI registry, together with its provenance file if there
is one in the same directory.

    $ helm push shop-1.2.3.tgz oci://example.com/charts

The chart's name and version become the last part of the reference, as in
oci://example.com/charts/shop:1.2.3.
`

func newPushCmd(a *app) *cobra.Command {
	var o registryOptions
	cmd := &cobra.Command{
		Use:               "push [chart] [remote]",
		Short:             "upload a chart to a registry",
		Long:              pushHelp,
		Args:              require.MinimumNArgs(2),
		ValidArgsFunction: a.completePush,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.push(o, args[0], args[1])
		},
	}
	addRegistryFlags(cmd.Flags(), &o)
	return cmd
}

func (a *app) push(o registryOptions, chart, remote string) error {
	registry, err := a.registryClient(o)
	if err != nil {
		return err
	}
	a.config.RegistryClient = registry
	client := action.NewPushWithOpts(
		action.WithPushConfig(a.config),
		action.WithTLSClientConfig(o.certFile, o.keyFile, o.caFile),
		action.WithInsecureSkipTLSVerify(o.insecure),
		action.WithPlainHTTP(o.plainHTTP),
		action.WithPushOptWriter(a.out),
	)
	client.Settings = a.settings
	output, err := client.Run(chart, remote)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(a.out, output)
	return err
}

// completePush suggests files for the chart, and URL schemes for the registry.
func (a *app) completePush(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return nil, cobra.ShellCompDirectiveDefault
	case 1:
		var prefixes []string
		for _, provider := range pusher.All(a.settings) {
			for _, scheme := range provider.Schemes {
				prefixes = append(prefixes, scheme+"://")
			}
		}
		return prefixes, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	default:
		return noMoreArguments(cmd, args, word)
	}
}
