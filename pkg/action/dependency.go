// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"io"

	helmaction "helm.sh/helm/v3/pkg/action"

	"github.com/ordered-helm/helm/internal/dependency"
)

// Dependency lists the dependencies of a chart and whether they are present. It has the
// fields of Helm's Dependency, with the same meaning (docs/reference.md, "Packages").
type Dependency helmaction.Dependency

// NewDependency returns a Dependency with Helm's defaults.
func NewDependency() *Dependency { return (*Dependency)(helmaction.NewDependency()) }

// List prints a table of the dependencies of the chart at chartpath, and warnings about
// other files in its charts directory.
func (d *Dependency) List(chartpath string, out io.Writer) error {
	return dependency.List(chartpath, out, d.ColumnWidth)
}
