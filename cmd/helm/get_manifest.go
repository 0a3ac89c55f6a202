// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"

	"github.com/ordered-helm/helm/pkg/action"
)

const getManifestHelp = `
Print the manifest of a release: the YAML of every resource that its chart and
subcharts rendered, hooks excepted.

    $ helm get manifest shop
    $ helm get manifest shop --revision 3 | kubectl diff -f -
`

func newGetManifestCmd(a *app) *cobra.Command {
	client := action.NewGet(a.config)
	cmd := &cobra.Command{
		Use:               "manifest RELEASE_NAME",
		Short:             "print the manifest of a release",
		Long:              getManifestHelp,
		Args:              require.ExactArgs(1),
		ValidArgsFunction: a.completeRelease(),
		RunE: func(_ *cobra.Command, args []string) error {
			rel, err := client.Run(args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.out, rel.Manifest)
			return err
		},
	}
	a.addRevisionFlag(cmd, &client.Version)
	return cmd
}
