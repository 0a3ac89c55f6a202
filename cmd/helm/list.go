// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/gosuri/uitable"
	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/cli/output"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/releaselist"
	"github.com/ordered-helm/helm/pkg/action"
)

const listHelp = `
List the releases of a namespace.

By default, deployed and failed releases are listed, sorted by name. The flags that
select a status can be combined; --all selects every status.

    $ helm list --namespace shop
    $ helm list --all-namespaces --failed --pending
    $ helm list --filter '^web-[0-9]+$' --date --reverse
    $ helm list -o json

The filter is a regular expression that the name of the release must match. At most
--max releases are printed, starting at --offset.
`

func newListCmd(a *app) *cobra.Command {
	client := action.NewList(a.config)
	cmd := &cobra.Command{
		Use:               "list",
		Short:             "list releases",
		Long:              listHelp,
		Aliases:           []string{"ls"},
		Args:              require.NoArgs,
		ValidArgsFunction: noMoreArguments,
	}
	f := cmd.Flags()
	f.BoolVarP(&client.Short, "short", "q", false, "print names only")
	f.BoolVar(&client.NoHeaders, "no-headers", false, "omit the table header")
	f.StringVar(&client.TimeFormat, "time-format", "", `time format as a Go layout, such as "2006-01-02 15:04:05Z0700"`)
	f.BoolVarP(&client.ByDate, "date", "d", false, "sort by the time of the last deployment")
	f.BoolVarP(&client.SortReverse, "reverse", "r", false, "reverse the sort order")
	f.BoolVarP(&client.All, "all", "a", false, "list releases of every status")
	f.BoolVar(&client.Uninstalled, "uninstalled", false, "list releases that were uninstalled with --keep-history")
	f.BoolVar(&client.Superseded, "superseded", false, "list superseded revisions")
	f.BoolVar(&client.Uninstalling, "uninstalling", false, "list releases that are being uninstalled")
	f.BoolVar(&client.Deployed, "deployed", false, "list deployed releases; the default if no status is selected")
	f.BoolVar(&client.Failed, "failed", false, "list failed releases")
	f.BoolVar(&client.Pending, "pending", false, "list releases with an operation in progress")
	f.BoolVarP(&client.AllNamespaces, "all-namespaces", "A", false, "list the releases of all namespaces")
	f.IntVarP(&client.Limit, "max", "m", 256, "list at most this many releases")
	f.IntVar(&client.Offset, "offset", 0, "skip this many releases")
	f.StringVarP(&client.Filter, "filter", "f", "", "regular expression that names must match")
	f.StringVarP(&client.Selector, "selector", "l", "", "label selector, such as team=web,tier!=test; only for the secret and configmap drivers")
	out := addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.list(cmd.Context(), client, out.format)
	}
	return cmd
}

func (a *app) list(ctx context.Context, client *action.List, format output.Format) error {
	namespace := a.settings.Namespace()
	if client.AllNamespaces {
		namespace = ""
		if err := action.InitConfiguration(a.config, a.settings.RESTClientGetter(), namespace, os.Getenv("HELM_DRIVER"), a.debugf); err != nil {
			return err
		}
	}
	a.readOnlyListedFields(ctx, namespace)
	client.SetStateMask()
	releases, err := client.RunWithContext(ctx)
	if err != nil {
		return err
	}
	if client.Short {
		return format.Write(a.out, releaseNames(releases))
	}
	return format.Write(a.out, releaseList(releases, client.TimeFormat, client.NoHeaders))
}

// readOnlyListedFields makes a.config read only those fields of releases that a list of the
// releases in a namespace shows, which takes less time. An empty namespace means all.
func (a *app) readOnlyListedFields(ctx context.Context, namespace string) {
	a.config.Releases = releaselist.NewStorage(ctx, a.config.Releases, releaselist.Options{
		Namespace: namespace, Connect: a.config.KubernetesClientSet, Log: a.debugf,
	})
}

// releaseNames returns a printer for the names of releases, for list --short.
func releaseNames(releases []*release.Release) printer {
	names := make([]string, len(releases)) // not nil, so that an empty list is [] in JSON
	for i, rel := range releases {
		names[i] = rel.Name
	}
	return printer{names, func(out io.Writer) error {
		for _, name := range names {
			if _, err := fmt.Fprintln(out, name); err != nil {
				return err
			}
		}
		return nil
	}}
}

// listRow is what "helm list" prints about one release.
type listRow struct {
	Name       string `json:"name"`
	Namespace  string `json:"namespace"`
	Revision   string `json:"revision"`
	Updated    string `json:"updated"`
	Status     string `json:"status"`
	Chart      string `json:"chart"`
	AppVersion string `json:"app_version"`
}

func releaseList(releases []*release.Release, timeFormat string, noHeaders bool) printer {
	rows := make([]listRow, len(releases)) // not nil, so that an empty list is [] in JSON
	table := uitable.New()
	if !noHeaders {
		table.AddRow("NAME", "NAMESPACE", "REVISION", "UPDATED", "STATUS", "CHART", "APP VERSION")
	}
	for i, rel := range releases {
		name, appVersion := describeChart(rel.Chart)
		r := listRow{
			Name:       rel.Name,
			Namespace:  rel.Namespace,
			Revision:   strconv.Itoa(rel.Version),
			Updated:    formatUpdated(rel, timeFormat),
			Status:     rel.Info.Status.String(),
			Chart:      name,
			AppVersion: appVersion,
		}
		rows[i] = r
		table.AddRow(r.Name, r.Namespace, r.Revision, r.Updated, r.Status, r.Chart, r.AppVersion)
	}
	return tablePrinter(rows, table)
}

func formatUpdated(rel *release.Release, format string) string {
	updated := rel.Info.LastDeployed
	switch {
	case updated.IsZero():
		return "-"
	case format != "":
		return updated.Format(format)
	default:
		return updated.String()
	}
}

// describeChart returns the name and version of a chart, as in "shop-1.2.0", and its app
// version. c can be nil or have no metadata, because there are such stored releases.
func describeChart(c *chart.Chart) (name, appVersion string) {
	if c == nil || c.Metadata == nil {
		return "MISSING", "MISSING"
	}
	return c.Metadata.Name + "-" + c.Metadata.Version, c.Metadata.AppVersion
}
