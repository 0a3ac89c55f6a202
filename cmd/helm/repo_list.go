// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"

	"github.com/gosuri/uitable"
	"github.com/spf13/cobra"
	"helm.sh/helm/v3/cmd/helm/require"
	"helm.sh/helm/v3/pkg/cli/output"
	"helm.sh/helm/v3/pkg/repo"
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
		ValidArgsFunction: completeNoMore,
	}
	out := addOutputFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		// If the repository file cannot be read, there are no repositories to list.
		file, _ := a.repositories()
		rows := newRepoRows(file)
		if len(rows) == 0 && out.format == output.Table {
			return errors.New("no repositories to show")
		}
		return out.format.Write(a.out, rows)
	}
	return cmd
}

// repoRow is what repo list prints about one repository.
type repoRow struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

type repoRows []repoRow

// newRepoRows returns the rows for the repositories in file. It never returns nil, so that
// an empty list is [] in JSON.
func newRepoRows(file *repo.File) repoRows {
	rows := make(repoRows, 0, len(file.Repositories))
	for _, entry := range file.Repositories {
		rows = append(rows, repoRow{Name: entry.Name, URL: entry.URL})
	}
	return rows
}

func (r repoRows) WriteTable(out io.Writer) error {
	table := uitable.New()
	table.AddRow("NAME", "URL")
	for _, row := range r {
		table.AddRow(row.Name, row.URL)
	}
	return output.EncodeTable(out, table)
}

func (r repoRows) WriteJSON(out io.Writer) error { return output.EncodeJSON(out, r) }
func (r repoRows) WriteYAML(out io.Writer) error { return output.EncodeYAML(out, r) }
