// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"fmt"

	"github.com/ordered-helm/helm/internal/annotation"
)

// WarningKind classifies a Warning, so that helm lint can assign it to a rule.
type WarningKind string

const (
	// WarningUnknownLayer is about a resource that depends on a layer that does not exist
	// in its chart.
	WarningUnknownLayer WarningKind = "unknown layer"
	// WarningExpressionPath is about a readiness expression whose path is probably wrong.
	WarningExpressionPath WarningKind = "expression path"
	// WarningNotSequenced is about a chart whose declared order is ignored (see
	// Chart.Sequenced).
	WarningNotSequenced WarningKind = "not sequenced"
	// WarningLateBinding is about a role binding that grants permissions to the service
	// account of a workload, but is deployed only after the workload is ready.
	WarningLateBinding WarningKind = "late binding"
)

// Warning tells the author of a chart about a probable mistake that does not prevent
// deployment.
type Warning struct {
	Kind WarningKind
	// Chart is the path of the chart.
	Chart string
	// File is the template, or the Chart.yaml of the chart.
	File string
	// ID is the resource. It is zero for a warning about a chart.
	ID ID
	// Key is the key of the annotation that the warning is about, and Name the name in its
	// value. Both can be empty.
	Key, Name string

	text string
}

// String returns the message for the user.
func (w Warning) String() string { return w.text }

func (b *builder) warn(kind WarningKind, r *draftResource, key, name, text string) {
	b.warnings = append(b.warnings, Warning{Kind: kind, Chart: r.chart.path, File: r.File, ID: r.ID, Key: key, Name: name, text: text})
}

func (b *builder) warnUnknownLayer(r *draftResource, layer string) {
	b.warn(WarningUnknownLayer, r, r.order.DependsOnKey, layer, fmt.Sprintf(
		"%s: %s depends on the unknown layer %q of chart %s: the dependency is ignored", r.File, r.ID, layer, r.chart.path))
}

// warnExpressions warns about readiness expressions whose path is probably wrong.
func (b *builder) warnExpressions() {
	for _, r := range b.resources {
		for _, list := range []struct {
			key         string
			expressions []annotation.ReadinessExpression
		}{{annotation.ReadinessSuccess, r.Success}, {annotation.ReadinessFailure, r.Failure}} {
			for _, e := range list.expressions {
				if e.PathBeginsWithStatus() {
					b.warn(WarningExpressionPath, r, list.key, "", fmt.Sprintf(
						"%s: %s: the path of the readiness expression %q already begins at .status: remove the leading \"status\"", r.File, r.ID, e))
				}
			}
		}
	}
}

// warnNotSequenced warns about each chart whose declarations are ignored.
func (b *builder) warnNotSequenced() {
	for _, c := range b.charts {
		if c.ignored {
			b.warnings = append(b.warnings, Warning{
				Kind: WarningNotSequenced, Chart: c.path, File: c.file + "/Chart.yaml",
				text: fmt.Sprintf("chart %s declares an order that is ignored, because its apiVersion is not v3: "+
					"set apiVersion: v3 in %s/Chart.yaml, or add the annotation helm.sh/sequencing: enabled there", c.path, c.file),
			})
		}
	}
}
