// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/field"
	"github.com/ordered-helm/helm/internal/joinederror"
	"github.com/ordered-helm/helm/internal/similar"
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
	// WarningUnmatchedRule is about a rule of an order file that matches no chart and no resource.
	WarningUnmatchedRule WarningKind = "unmatched rule"
	// WarningUnknownKey is about a key or field that has no effect, but resembles one that
	// declares an order, or is one of these in the wrong place.
	WarningUnknownKey WarningKind = "unknown key"
)

// Warning tells the author of a chart about a probable mistake that does not prevent
// deployment.
type Warning struct {
	Kind WarningKind
	// Chart is the path of the chart.
	Chart string
	// File is the template, the Chart.yaml of the chart, or an order file.
	File string
	// ID is the resource. It is zero for a warning about a chart.
	ID ID
	// Key is the key of the annotation that the warning is about, and Name the name in its
	// value. Hint is what the author probably means, as the end of a message. All can be empty.
	Key, Name, Hint string
	// Err is the error of which a WarningUnknownKey warns.
	Err error

	text string
}

// String returns the message for the user.
func (w Warning) String() string { return w.text }

func (b *builder) warn(kind WarningKind, r *draftResource, key, name, text string) {
	b.warnings = append(b.warnings, Warning{Kind: kind, Chart: r.chart.Path, File: r.File, ID: r.ID, Key: key, Name: name, text: text})
}

func (b *builder) warnUnknownLayer(r *draftResource, layer string) {
	hint := ""
	if slices.ContainsFunc(r.chart.Subcharts, func(i int) bool { return b.charts[i].Chart.Name == layer }) {
		hint = fmt.Sprintf("; to depend on the subchart, use %s in Chart.yaml", annotation.DependsOnSubchartsCanonical)
	} else if nearest := similar.Nearest(layer, slices.Sorted(maps.Keys(r.chart.layers))); nearest != "" {
		hint = fmt.Sprintf("; did you mean %q?", nearest)
	}
	reason := b.reader.Reason(r.declaring(), &r.order, layer)
	b.warn(WarningUnknownLayer, r, reason.Key, layer, fmt.Sprintf(
		"%s: %s depends on the unknown layer %q of chart %s: the dependency is ignored%s", reason.File, r.ID, layer, r.chart.Path, hint))
	w := &b.warnings[len(b.warnings)-1]
	w.File, w.Hint = reason.File, hint
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

// warnIgnoredDeclarations warns about declarations that are ignored: about keys that resemble those that
// declare an order, and about each chart whose order is ignored.
func (b *builder) warnIgnoredDeclarations() {
	for _, r := range b.resources {
		for _, err := range joinederror.Split(annotation.CheckKeys(field.Map(r.object, "metadata", "annotations"))) {
			b.warn(WarningUnknownKey, r, "", "", fmt.Sprintf("%s: %s: %v", r.File, r.ID, err))
			b.warnings[len(b.warnings)-1].Err = err
		}
	}
	for _, c := range b.charts {
		file, explained := c.Directory+"/Chart.yaml", false
		for _, err := range c.Chart.Mistakes {
			b.warnings = append(b.warnings, Warning{Kind: WarningUnknownKey, Chart: c.Path, File: file, Err: err, text: err.Error()})
			explained = explained || strings.Contains(err.Error(), annotation.Sequencing)
		}
		if c.ignored && !explained {
			b.warnings = append(b.warnings, Warning{Kind: WarningNotSequenced, Chart: c.Path, File: file, text: c.ignoredReason()})
		}
	}
}

// warnUnmatchedRules warns about rules that match no chart and no resource.
func (b *builder) warnUnmatchedRules() {
	for _, r := range b.tree.Rules.Unmatched() {
		b.warnings = append(b.warnings, Warning{
			Kind: WarningUnmatchedRule, Chart: b.charts[0].Path, File: r.File, Key: r.Path,
			text: fmt.Sprintf("%s matches nothing in this release: the rule is ignored", r),
		})
	}
}

// ignoredReason explains why the order that c declares is ignored, and how to change that.
func (c *draftChart) ignoredReason() string {
	text := fmt.Sprintf("chart %s declares an order that is ignored, because ordering is not enabled: "+
		"add the annotation helm.sh/sequencing: enabled to %[2]s/Chart.yaml", c.Path, c.Directory)
	if c.parent == nil {
		return text + " (or disabled, to deploy the chart without this order)"
	}
	return text + fmt.Sprintf("; if the chart is not yours, its parent can still order it as a whole, with depends-on in %s/Chart.yaml", c.parent.Directory)
}
