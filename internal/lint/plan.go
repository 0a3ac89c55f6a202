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
	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/lint/source"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/similar"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// defaultTimeout is the default of --timeout in helm install and helm upgrade.
const defaultTimeout = 5 * time.Minute

// addProblem adds findings about an error in a Chart.yaml.
func (i *inspection) addProblem(severity string, err error) {
	file, ofFile := errors.AsType[*chartloader.ChartFileError](err)
	if ofFile && i.declared[file.File] != nil {
		i.addDeclared(i.declared[file.File], severity, err)
		return
	}
	i.addAs(malformedValue, severity, source.Position{}, err.Error())
}

// checkPlan adds findings about the result of sequencer.Inspect. It leaves out findings
// that could be only a consequence of another error in the same chart.
func (i *inspection) checkPlan(p *sequencer.Inspection) {
	broken := map[string]bool{}
	for _, problem := range p.Errors {
		i.addPlanProblem(problem, broken)
	}
	dangling := map[string]bool{}
	for _, w := range p.Warnings {
		if w.Kind == sequencer.WarningUnknownLayer {
			if broken[w.Chart] {
				continue
			}
			dangling[w.Chart] = true
		}
		i.addPlanWarning(w)
	}
	if p.Plan == nil {
		return
	}
	for _, need := range p.Plan.Unmet {
		if !broken[need.FromNode.Chart] && !broken[need.ToNode.Chart] {
			// The finding already names this file.
			text := strings.ReplaceAll(need.String(), " ("+need.From.File+")", "")
			i.add(unmeetableNeed, i.atID(need.From.File, need.From.ID, ""), i.localized(text))
		}
	}
	for n, node := range p.Plan.Nodes {
		if broken[node.Chart] {
			continue
		}
		i.checkNode(p.Plan, n)
		if !dangling[node.Chart] {
			i.checkReachability(p.Plan, node)
		}
	}
}

// addPlanProblem adds findings about an error in the plan. It adds the paths of charts with
// invalid annotations to broken.
func (i *inspection) addPlanProblem(err error, broken map[string]bool) {
	var resource *sequencer.ResourceError
	var duplicate *sequencer.DuplicateError
	var subchart *sequencer.UnknownSubchartError
	var cycle *sequencer.CycleError
	var file *chartloader.ChartFileError
	switch {
	case errors.As(err, &file): // already reported for the declarations
	case errors.As(err, &resource):
		for _, o := range i.find(resource.File, resource.ID) {
			broken[o.chart] = true
		}
		i.addResourceProblem(resource)
	case errors.As(err, &duplicate):
		i.add(duplicateObject, i.atID(duplicate.Second, duplicate.ID, ""), i.localized(duplicate.Error()))
	case errors.As(err, &subchart):
		at := i.file(subchart.File)
		if f := i.definitionAt(subchart.File); f != nil {
			at = f.Field("annotations", subchart.Key)
			if subchart.Dependency != "" {
				at = f.DependencyField(subchart.Dependency, dependsOnField)
			}
		}
		i.add(unknownSubchart, at, strings.TrimPrefix(subchart.Error(), subchart.File+": "))
	case errors.As(err, &cycle):
		i.addCycle(cycle)
	default:
		i.add(malformedValue, source.Position{}, err.Error())
	}
}

func (i *inspection) addResourceProblem(e *sequencer.ResourceError) {
	for _, problem := range leaves(e.Err) {
		value, ok := errors.AsType[*annotation.ValueError](problem)
		if !ok {
			i.add(malformedValue, i.atID(e.File, e.ID, ""), fmt.Sprintf("%s: %v", e.ID, problem))
			continue
		}
		key := strings.TrimPrefix(value.Key, "metadata.")
		i.add(ruleOf(value), i.atID(e.File, e.ID, key), fmt.Sprintf("%s: %v", e.ID, problem))
	}
}

func (i *inspection) addCycle(e *sequencer.CycleError) {
	texts := make([]string, len(e.Edges))
	for n, edge := range e.Edges {
		where := i.edge(edge)
		file := where.File
		if where.Line > 0 {
			file = fmt.Sprintf("%s:%d", file, where.Line)
		}
		texts[n] = fmt.Sprintf("%s depends on %s (%s)", edge.From, edge.To, file)
	}
	if len(e.Edges) == 1 {
		i.add(selfDependency, i.edge(e.Edges[0]), fmt.Sprintf("%s depends on itself", e.Edges[0].From))
		return
	}
	at := source.Position{}
	if len(e.Edges) > 0 {
		at = i.edge(e.Edges[0])
	}
	i.add(dependencyCycle, at, "dependency cycle: "+strings.Join(texts, ", "))
}

// edge returns the position of the declaration of an edge.
func (i *inspection) edge(e sequencer.CycleEdge) source.Position {
	if dependency := e.Dependency(); dependency != "" {
		if f := i.definitionAt(e.File); f != nil {
			return f.DependencyField(dependency, dependsOnField)
		}
		return i.file(e.File)
	}
	layer := strings.Trim(strings.TrimPrefix(e.To, "layer "), `"`)
	return i.atDependsOn(e.File, e.Key, layer)
}

func (i *inspection) addPlanWarning(w sequencer.Warning) {
	switch w.Kind {
	case sequencer.WarningUnknownLayer:
		text := fmt.Sprintf("%s depends on the unknown layer %q: the dependency is ignored", w.ID, w.Name)
		if meant := similar.Nearest(w.Name, i.layersOf(w.Chart)); meant != "" {
			text += fmt.Sprintf("; did you mean %q?", meant)
		}
		i.add(unknownLayer, i.atDependsOn(w.File, w.Key, w.Name), text)
	case sequencer.WarningExpressionPath:
		i.add(expressionPath, i.atID(w.File, w.ID, w.Key), strings.TrimPrefix(w.String(), w.File+": "))
	case sequencer.WarningNotSequenced:
		at := i.file(w.File)
		if f := i.definitionAt(w.File); f != nil {
			at = f.Field("apiVersion")
		}
		i.add(sequencingNotEnabled, at, fmt.Sprintf("chart %s declares an order that is ignored: set apiVersion: v3 or the annotation helm.sh/sequencing: \"enabled\"", w.Chart))
	case sequencer.WarningLateBinding:
		i.add(lateRoleBinding, i.atID(w.File, w.ID, ""), i.localized(w.String()))
	}
}

// localized replaces the names of templates in a message with their paths in the chart.
func (i *inspection) localized(text string) string {
	var pairs []string
	for _, rendered := range slices.Sorted(maps.Keys(i.sources)) {
		pairs = append(pairs, rendered, i.sources[rendered])
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// layersOf returns the names of all layers of the chart with this path.
func (i *inspection) layersOf(chart string) []string {
	var layers []string
	for _, o := range i.objects {
		if o.chart != chart || o.resource == nil {
			continue
		}
		for _, key := range []string{annotation.Layer, annotation.ResourceGroup} {
			layers = append(layers, namesUnder(o.annotations, key)...)
		}
	}
	slices.Sort(layers)
	return slices.Compact(layers)
}

// namesUnder returns the names in the annotation key, or none if the value is invalid.
func namesUnder(annotations *yaml.Node, key string) []string {
	value := yamledit.Lookup(annotations, key)
	if value == nil {
		return nil
	}
	names, err := annotation.ReadNames(key, annotation.DecodeNode(value))
	if err != nil {
		return nil
	}
	return names
}
