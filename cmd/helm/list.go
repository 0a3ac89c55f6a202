// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
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
		ValidArgsFunction: completeNoMore,
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
	cmd.RunE = func(*cobra.Command, []string) error {
		return a.list(client, out.format)
	}
	return cmd
}

func (a *app) list(client *action.List, format output.Format) error {
	if client.AllNamespaces {
		if err := a.config.Init(a.settings.RESTClientGetter(), "", os.Getenv("HELM_DRIVER"), a.debugf); err != nil {
			return err
		}
	}
	client.SetStateMask()
	releases, err := client.Run()
	if err != nil {
		return err
	}
	if client.Short {
		return format.Write(a.out, newNamePrinter(releases))
	}
	return format.Write(a.out, &listPrinter{rows: listRows(releases, client.TimeFormat), noHeaders: client.NoHeaders})
}

// namePrinter prints only the names of releases, as list --short does.
type namePrinter []string

func newNamePrinter(releases []*release.Release) namePrinter {
	names := make(namePrinter, 0, len(releases))
	for _, rel := range releases {
		names = append(names, rel.Name)
	}
	return names
}

func (p namePrinter) WriteTable(out io.Writer) error {
	for _, name := range p {
		if _, err := fmt.Fprintln(out, name); err != nil {
			return err
		}
	}
	return nil
}

func (p namePrinter) WriteJSON(out io.Writer) error { return output.EncodeJSON(out, p) }
func (p namePrinter) WriteYAML(out io.Writer) error { return output.EncodeYAML(out, p) }

// listRow is what list prints about one release.
type listRow struct {
	Name       string `json:"name"`
	Namespace  string `json:"namespace"`
	Revision   string `json:"revision"`
	Updated    string `json:"updated"`
	Status     string `json:"status"`
	Chart      string `json:"chart"`
	AppVersion string `json:"app_version"`
}

// listRows returns the rows for the releases. It never returns nil, so that an empty list
// is [] in JSON.
func listRows(releases []*release.Release, timeFormat string) []listRow {
	rows := make([]listRow, 0, len(releases))
	for _, rel := range releases {
		name, appVersion := describeChart(rel.Chart)
		rows = append(rows, listRow{
			Name:       rel.Name,
			Namespace:  rel.Namespace,
			Revision:   strconv.Itoa(rel.Version),
			Updated:    formatUpdated(rel, timeFormat),
			Status:     rel.Info.Status.String(),
			Chart:      name,
			AppVersion: appVersion,
		})
	}
	return rows
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

// describeChart returns the chart's name and version in one text, and its app version. c
// can be nil or have no metadata, because clusters contain such releases.
func describeChart(c *chart.Chart) (name, appVersion string) {
	if c == nil || c.Metadata == nil {
		return "MISSING", "MISSING"
	}
	return c.Metadata.Name + "-" + c.Metadata.Version, c.Metadata.AppVersion
}

type listPrinter struct {
	rows      []listRow
	noHeaders bool
}

func (p *listPrinter) WriteTable(out io.Writer) error {
	table := uitable.New()
	if !p.noHeaders {
		table.AddRow("NAME", "NAMESPACE", "REVISION", "UPDATED", "STATUS", "CHART", "APP VERSION")
	}
	for _, r := range p.rows {
		table.AddRow(r.Name, r.Namespace, r.Revision, r.Updated, r.Status, r.Chart, r.AppVersion)
	}
	return output.EncodeTable(out, table)
}

func (p *listPrinter) WriteJSON(out io.Writer) error { return output.EncodeJSON(out, p.rows) }
func (p *listPrinter) WriteYAML(out io.Writer) error { return output.EncodeYAML(out, p.rows) }
