// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"slices"
	"time"

	"github.com/gosuri/uitable"
	"github.com/spf13/cobra"
	helmtime "helm.sh/helm/v3/pkg/time"

	"github.com/ordered-helm/helm/pkg/action"
)

const historyHelp = `
List the revisions of a release, the latest last: when each was deployed, its
status, its chart and a description. If any revision was deployed in the order that its
chart declares, the additional column ORDER shows which ones were. "ignored" means that a
program without support for the order rolled the release back to such a revision; an
uninstall follows the order.

    $ helm history shop
    $ helm history shop --max 3 -o json

With HELM_DRIVER=crd, -o json and -o yaml also print the name of the ReleaseVersion that
stores each revision. Every command that takes a revision also takes this name.

"helm rollback" rolls a release back to an earlier revision.
`

func newHistoryCmd(a *app) *cobra.Command {
	client := action.NewHistory(a.config)
	cmd := a.newReleaseCmd("history", "list the revisions of a release", historyHelp)
	cmd.Aliases = []string{"hist"}
	cmd.Flags().IntVar(&client.Max, "max", 256, "list at most this many revisions, the latest ones")
	out := addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		revisions, err := client.Revisions(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		slices.SortStableFunc(revisions, func(a, b action.Revision) int { return cmp.Compare(a.Release.Version, b.Release.Version) })
		surplus := len(revisions) - max(client.Max, 0)
		return out.format.Write(a.out, newHistory(revisions[max(surplus, 0):]))
	}
	return cmd
}

// historyRow is what "helm history" prints about one revision.
type historyRow struct {
	Revision    int           `json:"revision"`
	Updated     helmtime.Time `json:"updated"`
	Status      string        `json:"status"`
	Chart       string        `json:"chart"`
	AppVersion  string        `json:"app_version"`
	Description string        `json:"description"`
	Ordered     bool          `json:"ordered,omitempty"`
	// OrderIgnored is true if another program deployed the revision without an order, but an
	// uninstall follows the order.
	OrderIgnored bool `json:"orderIgnored,omitempty"`
	// OrderError is the error of reading the order record of the revision.
	OrderError string `json:"orderError,omitempty"`
	// ReleaseVersion is the name of the ReleaseVersion that stores the revision.
	ReleaseVersion string `json:"releaseVersion,omitempty"`
}

// order returns the text in the column ORDER, which is empty for unordered revisions.
func (r historyRow) order() string {
	switch {
	case r.Ordered:
		return string(action.OrderFollowed)
	case r.OrderIgnored:
		return string(action.OrderIgnored)
	case r.OrderError != "":
		return string(action.OrderUnknown)
	}
	return ""
}

// newHistory returns a printer for the revisions of a release. The table has the column ORDER
// only if that column would not be empty.
func newHistory(revisions []action.Revision) printer {
	rows := make([]historyRow, len(revisions)) // not nil, so that an empty history is [] in JSON
	hasOrder := false
	for i, revision := range revisions {
		rel, r := revision.Release, &rows[i]
		*r = historyRow{
			Revision: rel.Version, Updated: rel.Info.LastDeployed, Status: rel.Info.Status.String(), Description: rel.Info.Description, ReleaseVersion: revision.ID,
		}
		r.Chart, r.AppVersion = describeChart(rel.Chart)
		if revision.OrderErr != nil {
			r.OrderError = revision.OrderErr.Error()
		}
		r.Ordered, r.OrderIgnored = revision.Order == action.OrderFollowed, revision.Order == action.OrderIgnored
		hasOrder = hasOrder || r.order() != ""
	}
	table := uitable.New()
	add := func(order string, cells ...any) {
		if hasOrder {
			cells = append(cells, order)
		}
		table.AddRow(cells...)
	}
	add("ORDER", "REVISION", "UPDATED", "STATUS", "CHART", "APP VERSION", "DESCRIPTION")
	for _, r := range rows {
		add(r.order(), r.Revision, r.Updated.Format(time.ANSIC), r.Status, r.Chart, r.AppVersion, r.Description)
	}
	return tablePrinter(rows, table)
}
