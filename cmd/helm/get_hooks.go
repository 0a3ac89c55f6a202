// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"

	"github.com/ordered-helm/helm/pkg/action"
)

const getHooksHelp = `
Print the hooks of a release as YAML documents.

    $ helm get hooks shop
`

func newGetHooksCmd(a *app) *cobra.Command {
	client := action.NewGet(a.config)
	cmd := &cobra.Command{
		Use:               "hooks RELEASE_NAME",
		Short:             "print the hooks of a release",
		Long:              getHooksHelp,
		Args:              require.ExactArgs(1),
		ValidArgsFunction: a.completeRelease(),
		RunE: func(_ *cobra.Command, args []string) error {
			rel, err := client.Run(args[0])
			if err != nil {
				return err
			}
			for _, hook := range rel.Hooks {
				if _, err := fmt.Fprintf(a.out, "---\n# Source: %s\n%s\n", hook.Path, hook.Manifest); err != nil {
					return err
				}
			}
			return nil
		},
	}
	a.addRevisionFlag(cmd, &client.Version)
	return cmd
}
