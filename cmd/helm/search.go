// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"strings"

	"github.com/gosuri/uitable"
	"github.com/spf13/cobra"
)

const searchHelp = `
Search for charts in the configured repositories, or on a public hub.

    $ helm search repo postgres
    $ helm search hub postgres
`

func newSearchCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "search [keyword]",
		Short: "search for charts",
		Long:  searchHelp,
	}
	cmd.AddCommand(newSearchHubCmd(a), newSearchRepoCmd(a))
	return cmd
}

// searchOutputFlags holds the flags that say how "search hub" and "search repo" print their
// results.
type searchOutputFlags struct {
	format        *formatFlag
	columnWidth   uint
	failIfNothing bool
}

func (o *searchOutputFlags) addFlags(cmd *cobra.Command) {
	const defaultWidth = 50
	o.format = addOutputFlag(cmd)
	f := cmd.Flags()
	f.UintVar(&o.columnWidth, "max-col-width", defaultWidth, "maximum width of columns, in characters")
	f.BoolVar(&o.failIfNothing, "fail-on-no-result", false, "fail if nothing is found")
}

// searchResult is the result of a search. It is printed as rows in JSON and YAML, and as
// heading and cells in a table.
type searchResult struct {
	rows    any
	heading []any
	cells   [][]any
}

func (o *searchOutputFlags) print(out io.Writer, r *searchResult) error {
	if len(r.cells) == 0 {
		if o.failIfNothing {
			return errors.New("no results found")
		}
		return o.format.format.Write(out, printer{r.rows, func(out io.Writer) error {
			_, err := io.WriteString(out, "No results found\n")
			return err
		}})
	}
	table := uitable.New()
	table.MaxColWidth = o.columnWidth
	table.AddRow(r.heading...)
	for _, row := range r.cells {
		table.AddRow(row...)
	}
	return o.format.format.Write(out, tablePrinter(r.rows, table))
}

// keywords joins the arguments of a search with spaces.
func keywords(args []string) string { return strings.Join(args, " ") }
