// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"strings"

	"github.com/gosuri/uitable"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"helm.sh/helm/v3/pkg/cli/output"
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

// searchOutput contains the flags that say how search hub and search repo print their
// results.
type searchOutput struct {
	format        *formatFlag
	columnWidth   uint
	failIfNothing bool
}

func (o *searchOutput) addFlags(cmd *cobra.Command) {
	o.addOwnFlags(cmd.Flags())
	o.format = addOutputFlag(cmd)
}

func (o *searchOutput) addOwnFlags(f *pflag.FlagSet) {
	const defaultWidth = 50
	f.UintVar(&o.columnWidth, "max-col-width", defaultWidth, "maximum width of columns, in characters")
	f.BoolVar(&o.failIfNothing, "fail-on-no-result", false, "fail if nothing is found")
}

// searchResult is what a search prints: rows contains the result for JSON and YAML, and the
// other fields contain it as a table.
type searchResult struct {
	rows    any
	heading []any
	cells   [][]any
}

func (o *searchOutput) print(out io.Writer, f *searchResult) error {
	if len(f.cells) == 0 && o.failIfNothing {
		return errors.New("no results found")
	}
	return o.format.format.Write(out, &searchPrinter{searchResult: f, columnWidth: o.columnWidth})
}

type searchPrinter struct {
	*searchResult
	columnWidth uint
}

func (p *searchPrinter) WriteTable(out io.Writer) error {
	if len(p.cells) == 0 {
		_, err := io.WriteString(out, "No results found\n")
		return err
	}
	table := uitable.New()
	table.MaxColWidth = p.columnWidth
	table.AddRow(p.heading...)
	for _, row := range p.cells {
		table.AddRow(row...)
	}
	return output.EncodeTable(out, table)
}

func (p *searchPrinter) WriteJSON(out io.Writer) error { return output.EncodeJSON(out, p.rows) }
func (p *searchPrinter) WriteYAML(out io.Writer) error { return output.EncodeYAML(out, p.rows) }

// keywords joins the arguments of a search with spaces.
func keywords(args []string) string { return strings.Join(args, " ") }
