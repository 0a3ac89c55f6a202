// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"helm.sh/helm/v3/pkg/cli/output"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/releaseparts"
	"github.com/ordered-helm/helm/pkg/action"
)

const statusHelp = `
Print the status of a release: when it was last deployed, its namespace, status and
revision, the results of its last tests, and the notes of its chart. The status is one of
deployed, failed, pending-install, pending-upgrade, pending-rollback, uninstalling,
uninstalled, superseded and unknown.

For a revision that was deployed with --wait=ordered, the line ORDER contains the number of
nodes in its graph and, if the operation did not finish, how many of them were done; -o json
and -o yaml list these nodes. "ignored" means that a program without support for the order,
such as stock Helm, rolled the release back to a revision that has a graph. "helm dag"
prints the graph.

While an operation is running on the release, or after it was killed, the line LOCK HOLDER
contains the process, when it started, its last heartbeat, and its current nodes.

    $ helm status shop
    $ helm status shop --show-desc --show-resources
    $ helm status shop --revision 3 -o json
`

func newStatusCmd(a *app) *cobra.Command {
	client := action.NewStatus(a.config)
	cmd := a.newReleaseCmd("status", "print the status of a release", statusHelp)
	f := cmd.Flags()
	a.addRevisionFlag(cmd, &client.Version)
	out := addOutputFlag(cmd)
	f.BoolVar(&client.ShowDescription, "show-desc", false, "also print the description of the revision")
	f.BoolVar(&client.ShowResources, "show-resources", false, "print the resources of the release as they are in the cluster")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		// As text, the resources are printed in tables, as by "kubectl get". JSON and YAML
		// contain the complete resources.
		client.ShowResourcesTable = out.format == output.Table
		rel, err := client.RunWithContext(cmd.Context(), args[0])
		if part, _ := errors.AsType[*releaseparts.PartError](err); part != nil && !client.ShowResources {
			rel, err = a.statusWithoutPart(cmd.Context(), args[0], part)
		}
		if err != nil {
			return err
		}
		order, holder := orderStatusOf(rel), action.HolderOf(rel)
		rel.Chart = nil // not printed, not even as JSON and YAML
		return out.format.Write(a.out, &releasePrinter{
			release:     rel,
			version:     a.versionOf(rel),
			description: client.ShowDescription,
			resources:   client.ShowResources,
			order:       order,
			holder:      holder,
		})
	}
	return cmd
}

// statusWithoutPart returns what is known of a revision of which a part cannot be read, for example because the
// account must not read Secrets.
func (a *app) statusWithoutPart(ctx context.Context, name string, part *releaseparts.PartError) (*release.Release, error) {
	revision, err := action.NewHistory(a.config).Revision(ctx, name, part.Owner.Revision)
	if err != nil {
		return nil, part
	}
	a.warnf("the notes, the tests and the order of the release are not printed: %v", part)
	return revision.Release, nil
}
