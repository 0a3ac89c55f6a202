// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"fmt"

	"github.com/ordered-helm/helm/internal/annotation"
)

// WarningKind is a sort of warning.
type WarningKind string

const (
	// WarningUnknownLayer is of a resource that depends on a layer which its
	// chart does not have.
	WarningUnknownLayer WarningKind = "unknown layer"
	// WarningExpressionPath is of a readiness expression that most likely looks
	// in the wrong place.
	WarningExpressionPath WarningKind = "expression path"
	// WarningNotSequenced is of a chart whose declarations do not count.
	WarningNotSequenced WarningKind = "not sequenced"
	// WarningLateBinding is of a role binding that is deployed only after the
	// workload whose account it serves is ready.
	WarningLateBinding WarningKind = "late binding"
)

// Warning is something that the author of a chart should know of.
type Warning struct {
	Kind WarningKind
	// Chart is the path of the chart that it is about.
	Chart string
	// File is the template that it is about, or the chart's Chart.yaml.
	File string
	// ID is the resource that it is about; of a chart it is zero.
	ID ID
	// Key is the annotation that it is about, and Name what is named there; both
	// may be empty.
	Key, Name string

	text string
}

// String is the warning in words.
func (w Warning) String() string { return w.text }

func (b *builder) warn(kind WarningKind, chart string, r *resource, key, text string) {
	b.warnings = append(b.warnings, Warning{Kind: kind, Chart: chart, File: r.File, ID: r.ID, Key: key, text: text})
}

func (b *builder) warnUnknownLayer(c *chartEntry, r *resource, layer string) {
	b.warnings = append(b.warnings, Warning{
		Kind: WarningUnknownLayer, Chart: c.path, File: r.File, ID: r.ID, Key: r.order.DependsOnKey, Name: layer,
		text: fmt.Sprintf("%s: %s depends on the layer %q, which chart %s does not have: the dependency is dropped",
			r.File, r.ID, layer, c.path),
	})
}

// warnExpressions warns of paths that most likely look in the wrong place.
func (b *builder) warnExpressions() {
	for i := range b.resources {
		r := &b.resources[i]
		for _, list := range []struct {
			key         string
			expressions []annotation.Expression
		}{{annotation.ReadinessSuccess, r.Success}, {annotation.ReadinessFailure, r.Failure}} {
			for _, e := range list.expressions {
				if e.PathBeginsWithStatus() {
					b.warn(WarningExpressionPath, b.charts[r.chart].path, r, list.key, fmt.Sprintf(
						"%s: %s: the path of the readiness expression %q begins at .status already: leave the first \"status\" out", r.File, r.ID, e))
				}
			}
		}
	}
}

// warnNotSequenced warns once per chart whose declarations do not count.
func (b *builder) warnNotSequenced() {
	declared := map[int]bool{}
	for _, r := range b.resources {
		declared[r.chart] = declared[r.chart] || r.declares
	}
	for i, c := range b.charts {
		if !c.Sequenced && (c.Declares || declared[i]) {
			b.warnings = append(b.warnings, Warning{
				Kind: WarningNotSequenced, Chart: c.path, File: c.file + "/Chart.yaml",
				text: fmt.Sprintf("chart %s declares an order that does not count, because it is not of apiVersion v3: "+
					"set apiVersion: v3 in %s/Chart.yaml, or add the annotation helm.sh/sequencing: enabled there", c.path, c.file),
			})
		}
	}
}
