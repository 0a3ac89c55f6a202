// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"
	"helm.sh/helm/v3/pkg/cli/output"

	"github.com/ordered-helm/helm/pkg/action"
)

const statusHelp = `
Print how a release stands: when it was deployed last, its namespace, status and
revision, the outcome of its last tests, and its chart's notes. The status is one
of deployed, failed, pending-install, pending-upgrade, pending-rollback,
uninstalling, uninstalled, superseded and unknown.

Of a revision that was deployed with --wait=ordered it is also said of how many
nodes its graph consists and, if it did not get to its end, how many of them were
done; with -o json and -o yaml, which. "not followed" means that the revision has
the graph of another one that was rolled back to by stock Helm. "helm dag" draws
the graph.

While an operation works on the release, and after it was killed, it is said which
process does so, since when, when it was last heard of, and at which nodes it is.

    $ helm status shop
    $ helm status shop --show-desc --show-resources
    $ helm status shop --revision 3 -o json
`

func newStatusCmd(a *app) *cobra.Command {
	client := action.NewStatus(a.config)
	cmd := &cobra.Command{
		Use:               "status RELEASE_NAME",
		Short:             "print how a release stands",
		Long:              statusHelp,
		Args:              require.ExactArgs(1),
		ValidArgsFunction: a.completeRelease(),
	}
	f := cmd.Flags()
	a.addRevisionFlag(cmd, &client.Version)
	out := addOutputFlag(cmd)
	f.BoolVar(&client.ShowDescription, "show-desc", false, "print the description of the revision too")
	f.BoolVar(&client.ShowResources, "show-resources", false, "print the release's resources as they are in the cluster")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		// As with kubectl: for people a table of the resources, for programs
		// the resources themselves.
		client.ShowResourcesTable = out.format == output.Table
		rel, err := client.Run(args[0])
		if err != nil {
			return err
		}
		order, holder := noteOrder(rel), action.HolderOf(rel)
		rel.Chart = nil // status does not print the chart, in JSON and YAML neither
		return out.format.Write(a.out, &releasePrinter{
			release:     rel,
			description: client.ShowDescription,
			resources:   client.ShowResources,
			order:       order,
			holder:      holder,
		})
	}
	return cmd
}
