// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"

	"github.com/ordered-helm/helm/pkg/action"
)

const getNotesHelp = `
Print the notes that a release's chart has for whoever installs it.

    $ helm get notes shop
`

func newGetNotesCmd(a *app) *cobra.Command {
	client := action.NewGet(a.config)
	cmd := &cobra.Command{
		Use:               "notes RELEASE_NAME",
		Short:             "print the notes of a release",
		Long:              getNotesHelp,
		Args:              require.ExactArgs(1),
		ValidArgsFunction: a.completeRelease(),
		RunE: func(_ *cobra.Command, args []string) error {
			rel, err := client.Run(args[0])
			if err != nil || rel.Info.Notes == "" {
				return err
			}
			_, err = fmt.Fprintf(a.out, "NOTES:\n%s\n", rel.Info.Notes)
			return err
		},
	}
	a.addRevisionFlag(cmd, &client.Version)
	return cmd
}
