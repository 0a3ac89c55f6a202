// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"io"

	helmaction "helm.sh/helm/v3/pkg/action"

	"github.com/ordered-helm/helm/internal/dependency"
)

// Dependency lists the dependencies that a chart declares, and whether its charts/
// directory contains them (helm dependency list). It has the fields of Helm's Dependency,
// with the same meaning (docs/reference.md, "Packages").
type Dependency helmaction.Dependency

// NewDependency returns a Dependency with Helm's defaults.
func NewDependency() *Dependency { return (*Dependency)(helmaction.NewDependency()) }

// List writes a table of the declared dependencies of a chart, with the state of each, to
// out. It also writes a warning for each chart in the charts/ directory that is not
// declared. chartpath is the chart's directory or archive. List returns an error if the
// chart cannot be loaded.
func (d *Dependency) List(chartpath string, out io.Writer) error {
	return dependency.List(chartpath, out, d.ColumnWidth)
}
