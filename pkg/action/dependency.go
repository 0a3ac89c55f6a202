// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"io"

	"github.com/ordered-helm/helm/internal/dependency"
)

// Dependency lists the dependencies of a chart and whether they are present. It has the
// fields of Helm's Dependency, with the same meaning (docs/reference.md, "Packages").
type Dependency struct {
	Verify                bool
	Keyring               string
	SkipRefresh           bool
	ColumnWidth           uint
	Username              string
	Password              string
	CertFile              string
	KeyFile               string
	CaFile                string
	InsecureSkipTLSverify bool
	PlainHTTP             bool
}

// NewDependency returns a Dependency with Helm's defaults.
func NewDependency() *Dependency { return &Dependency{ColumnWidth: 80} }

// List prints a table of the dependencies of the chart at chartpath, and warnings about
// other files in its charts directory.
func (d *Dependency) List(chartpath string, out io.Writer) error {
	return dependency.List(chartpath, out, d.ColumnWidth)
}
