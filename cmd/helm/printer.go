// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"

	"github.com/gosuri/uitable"
	"helm.sh/helm/v3/pkg/cli/output"
)

// printer implements output.Writer. It prints data as JSON or YAML, and calls table to print
// the same information as text.
type printer struct {
	data  any
	table func(io.Writer) error
}

func (p printer) WriteJSON(out io.Writer) error  { return output.EncodeJSON(out, p.data) }
func (p printer) WriteYAML(out io.Writer) error  { return output.EncodeYAML(out, p.data) }
func (p printer) WriteTable(out io.Writer) error { return p.table(out) }

// tablePrinter returns a printer whose text is a table.
func tablePrinter(data any, table *uitable.Table) printer {
	return printer{data, func(out io.Writer) error { return output.EncodeTable(out, table) }}
}
