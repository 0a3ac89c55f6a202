// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"
)

const getHelp = `
Print what is stored about a release: its values, rendered manifest, hooks,
notes or metadata, or all of that together.

    $ helm get values shop
    $ helm get manifest shop --revision 3
`

func newGetCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get",
		Short: "print what is stored about a release",
		Long:  getHelp,
		Args:  require.NoArgs,
	}
	cmd.AddCommand(
		newGetAllCmd(a),
		newGetHooksCmd(a),
		newGetManifestCmd(a),
		newGetMetadataCmd(a),
		newGetNotesCmd(a),
		newGetValuesCmd(a),
	)
	return cmd
}

func (a *app) addRevisionFlag(cmd *cobra.Command, revision *int) {
	cmd.Flags().IntVar(revision, "revision", 0, "revision of the release (default: the latest)")
	completeFlag(cmd, "revision", a.completeRevisions)
}
