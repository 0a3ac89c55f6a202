// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/declaration"
	"github.com/ordered-helm/helm/internal/lint/problem"
	"github.com/ordered-helm/helm/internal/lint/rule"
	"github.com/ordered-helm/helm/internal/lint/source"
	"github.com/ordered-helm/helm/internal/ordererror"
	"github.com/ordered-helm/helm/internal/orderfile"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// defaultTimeout is the default of --timeout in helm install and helm upgrade.
const defaultTimeout = 5 * time.Minute

// addDeclarationError adds findings about an error in the order that a Chart.yaml declares.
func (i *chartInspection) addDeclarationError(severity string, err error) {
	file, ok := errors.AsType[*declaration.ChartFileError](err)
	if ok && i.filesByDeclaration[file.File] != nil {
		i.addChartFileErrors(i.filesByDeclaration[file.File], severity, err)
		return
	}
	i.addAs(rule.MalformedValue, severity, source.Position{}, err.Error())
}

// checkPlan adds findings about the result of sequencer.Inspect. It omits findings that may
// be mere consequences of another error in the same chart.
func (i *chartInspection) checkPlan(p *sequencer.Inspection) {
	chartsWithErrors := map[string]bool{}
	for _, err := range p.Errors {
		i.addPlanError(err, chartsWithErrors)
	}
	for _, w := range p.Warnings {
		if w.Kind == sequencer.WarningUnknownKey && w.ID != (sequencer.ID{}) {
			chartsWithErrors[w.Chart] = true
		}
	}
	chartsWithUnknownLayers := map[string]bool{}
	for _, w := range p.Warnings {
		if w.Kind == sequencer.WarningUnknownLayer {
			if chartsWithErrors[w.Chart] {
				continue
			}
			chartsWithUnknownLayers[w.Chart] = true
		}
		i.addPlanWarning(w)
	}
	if p.Plan == nil {
		return
	}
	for _, need := range p.Plan.Unmet {
		if !chartsWithErrors[need.FromNode.Chart] && (need.ToNode == nil || !chartsWithErrors[need.ToNode.Chart]) {
			// Remove the name of the file, because it is the position of the finding.
			text := strings.ReplaceAll(need.String(), " ("+need.From.File+")", "")
			i.add(rule.UnmeetableNeed, i.positionByID(need.From.File, need.From.ID, ""), i.withSourcePaths(text))
		}
	}
	for n, node := range p.Plan.Nodes {
		if chartsWithErrors[node.Chart] {
			continue
		}
		i.checkNode(p.Plan, n)
		if !chartsWithUnknownLayers[node.Chart] {
			i.checkReachability(p.Plan, node)
		}
	}
}

// addPlanError adds findings about an error of sequencer.Inspect. If the error is about the
// annotations of a resource, it adds the path of the resource's chart to chartsWithErrors.
func (i *chartInspection) addPlanError(err error, chartsWithErrors map[string]bool) {
	var resource *sequencer.ResourceError
	var duplicate *sequencer.DuplicateError
	var subchart *sequencer.UnknownSubchartError
	var cycle *sequencer.CycleError
	var file *declaration.ChartFileError
	var orderFile *orderfile.Error
	var conflict *ordererror.ConflictError
	var external *ordererror.ExternalError
	switch {
	case errors.As(err, &file): // addDeclarationError has reported it
	case errors.As(err, &resource):
		for _, o := range i.find(resource.File, resource.ID) {
			chartsWithErrors[o.chart] = true
		}
		i.addResourceError(resource)
	case errors.As(err, &duplicate):
		i.add(rule.DuplicateObject, i.positionByID(duplicate.Second, duplicate.ID, ""), i.withSourcePaths(duplicate.Error()))
	case errors.As(err, &subchart):
		i.add(rule.UnknownSubchart, i.declaredAt(subchart.File, subchart.Key), strings.TrimPrefix(subchart.Error(), subchart.File+": "))
	case errors.As(err, &cycle):
		i.addCycle(cycle)
	case errors.As(err, &orderFile):
		i.addProblems([]problem.Problem{i.orderFiles.Problem(orderFile)})
	case errors.As(err, &conflict):
		i.addConflict(conflict)
	case errors.As(err, &external):
		i.addExternalError(external)
	default:
		i.add(rule.MalformedValue, source.Position{}, err.Error())
	}
}

func (i *chartInspection) addResourceError(e *sequencer.ResourceError) {
	for _, problem := range flatten(e.Err) {
		value, ok := errors.AsType[*annotation.ValueError](problem)
		if !ok {
			i.add(rule.MalformedValue, i.positionByID(e.File, e.ID, ""), fmt.Sprintf("%s: %v", e.ID, problem))
			continue
		}
		key := strings.TrimPrefix(value.Key, "metadata.")
		i.add(ruleOf(value), i.positionByID(e.File, e.ID, key), fmt.Sprintf("%s: %v", e.ID, problem))
	}
}

func (i *chartInspection) addCycle(e *sequencer.CycleError) {
	texts := make([]string, len(e.Edges))
	for n, edge := range e.Edges {
		where := i.edgePosition(edge)
		file := where.File
		if where.Line > 0 {
			file = fmt.Sprintf("%s:%d", file, where.Line)
		}
		texts[n] = fmt.Sprintf("%s depends on %s (%s)", edge.From, edge.To, file)
	}
	if len(e.Edges) == 1 {
		i.add(rule.SelfDependency, i.edgePosition(e.Edges[0]), fmt.Sprintf("%s depends on itself", e.Edges[0].From))
		return
	}
	at := source.Position{}
	if len(e.Edges) > 0 {
		at = i.edgePosition(e.Edges[0])
	}
	i.add(rule.DependencyCycle, at, "dependency cycle: "+strings.Join(texts, ", "))
}

// edgePosition returns the position of the declaration that causes an edge of the
// deployment graph.
func (i *chartInspection) edgePosition(e sequencer.CycleEdge) source.Position {
	if e.Dependency() != "" || i.isOrderFile(e.File) {
		return i.declaredAt(e.File, e.Key)
	}
	layer := strings.Trim(strings.TrimPrefix(e.To, "layer "), `"`)
	return i.dependsOnPosition(e.File, e.Key, layer)
}

func (i *chartInspection) addPlanWarning(w sequencer.Warning) {
	switch w.Kind {
	case sequencer.WarningUnknownLayer:
		text := fmt.Sprintf("%s depends on the unknown layer %q: the dependency is ignored%s", w.ID, w.Name, w.Hint)
		at := i.dependsOnPosition(w.File, w.Key, w.Name)
		if i.isOrderFile(w.File) {
			at = i.declaredAt(w.File, w.Key)
		}
		i.add(rule.UnknownLayer, at, text)
	case sequencer.WarningExpressionPath:
		i.add(rule.ExpressionPath, i.positionByID(w.File, w.ID, w.Key), strings.TrimPrefix(w.String(), w.File+": "))
	case sequencer.WarningNotSequenced:
		at := i.filePosition(w.File)
		if f := i.filesOfChart(w.File); f != nil {
			at = f.Field("apiVersion")
		}
		i.addAs(rule.SequencingNotEnabled, i.severityOf(w), at, fmt.Sprintf("chart %s declares an order that is ignored: add the annotation helm.sh/sequencing: \"enabled\"", w.Chart))
	case sequencer.WarningUnknownKey:
		if value, ok := errors.AsType[*annotation.ValueError](w.Err); ok && w.ID != (sequencer.ID{}) { // checkChartFile reports those in Chart.yaml
			i.addAs(ruleOf(value), i.severityOf(w), i.positionByID(w.File, w.ID, value.Key), fmt.Sprintf("%s: %v", w.ID, value))
		}
	case sequencer.WarningUnmatchedRule:
		i.addUnmatchedRule(w)
	case sequencer.WarningLateBinding:
		i.add(rule.LateRoleBinding, i.positionByID(w.File, w.ID, ""), i.withSourcePaths(w.String()))
	}
}

// severityOf returns the severity of a declaration that has no effect: install rejects it only
// in the root chart.
func (i *chartInspection) severityOf(w sequencer.Warning) string {
	if w.Chart == i.tree.Name {
		return rule.Error
	}
	return rule.Warning
}

// withSourcePaths replaces the names of templates in a message, which are those in the
// rendered output, with the paths of the templates in the chart.
func (i *chartInspection) withSourcePaths(text string) string {
	var pairs []string
	for _, rendered := range slices.Sorted(maps.Keys(i.templatePaths)) {
		pairs = append(pairs, rendered, i.templatePaths[rendered])
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// namesUnder returns the names of layers in the annotation key. It returns none if the
// annotation is missing or invalid.
func namesUnder(annotations *yaml.Node, key string) []string {
	value := yamledit.Lookup(annotations, key)
	if value == nil {
		return nil
	}
	names, err := annotation.ReadNames(key, annotation.DecodeYAML(value))
	if err != nil {
		return nil
	}
	return names
}
