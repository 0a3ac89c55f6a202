// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	"github.com/gosuri/uitable"
	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"
	"helm.sh/helm/v3/pkg/cli/output"
)

const repoListHelp = `
List the configured chart repositories, in the order in which they were added.
`

func newRepoListCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "list",
		Aliases:           []string{"ls"},
		Short:             "list chart repositories",
		Long:              repoListHelp,
		Args:              require.NoArgs,
		ValidArgsFunction: noMoreArguments,
	}
	out := addOutputFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		// As in Helm, a repository file that cannot be read counts as empty.
		file, _ := a.repositories()
		rows := make([]repoRow, len(file.Repositories)) // not nil, so that an empty list is [] in JSON
		table := uitable.New()
		table.AddRow("NAME", "URL")
		for i, entry := range file.Repositories {
			rows[i] = repoRow{Name: entry.Name, URL: entry.URL}
			table.AddRow(entry.Name, entry.URL)
		}
		if len(rows) == 0 && out.format == output.Table {
			return errors.New("no repositories to show")
		}
		return out.format.Write(a.out, tablePrinter(rows, table))
	}
	return cmd
}

// repoRow is what "repo list" prints about one chart repository.
type repoRow struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}
