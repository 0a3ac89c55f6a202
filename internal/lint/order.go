// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/lint/source"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// inspection checks one chart with the rules that Helm does not have.
type inspection struct {
	findings
	options Options

	chart  *chart.Chart
	values chartutil.Values
	tree   *sequencer.Chart

	// These maps contain the source files of charts. The keys of declared are those of
	// Declaration.File. The keys of definitions are paths of a Chart.yaml with the names in
	// the tree of charts, such as "shop/charts/db/Chart.yaml".
	declared, definitions map[string]*source.Files
	// sources maps the name of a template in the rendered output to its path in the chart.
	sources map[string]string

	rendered map[string]string
	objects  []*object
	marked   *markedRendering
}

// checkOrder checks a chart with the rules that Helm does not have. files are the original
// files. canonical are the result of canonicalFiles, or nil if the chart cannot be loaded.
func checkOrder(files, canonical []*chartloader.BufferedFile, o Options) []Finding {
	i := &inspection{options: o}
	root := source.New(files)
	root.Walk(i.checkChartFile)
	if canonical != nil && i.isRelevant(root) && i.load(root, canonical) {
		i.readObjects()
		i.checkPlan(sequencer.Inspect(sequencer.Input{Root: i.tree, Resources: i.resources(), Namespace: o.Namespace}))
	}
	return i.sorted()
}

// orderKeywords returns keywords of which each declaration of order, readiness or hooks
// contains at least one. A chart without any of them need not be rendered again.
func orderKeywords() []string {
	return []string{
		"helm.sh/layer", "helm.sh/resource-group", "helm.sh/readiness", "helm.sh/depend", "depends-on.helm.sh",
		"helm.sh/sequencing", "hooks-in-parallel", hookModeField, dependsOnField, "hook-delete-timeout", "crd-install", "test-failure",
	}
}

// isRelevant reports whether a chart could contain declarations to check. For most charts
// the result is false, which saves time. It is always true for apiVersion v3.
func (i *inspection) isRelevant(root *source.Files) bool {
	return apiVersion(root.Own) == chartloader.APIVersionV3 || mentionsOrderKeywords(root, i.options.Values)
}

// mentionsOrderKeywords reports whether a chart or its values contain any of orderKeywords.
func mentionsOrderKeywords(root *source.Files, values map[string]any) bool {
	mentions := func(text []byte) bool {
		return slices.ContainsFunc(orderKeywords(), func(word string) bool { return bytes.Contains(text, []byte(word)) })
	}
	found := false
	root.Walk(func(f *source.Files) {
		found = found || slices.ContainsFunc(f.Own, func(file *chartloader.BufferedFile) bool {
			return (strings.HasPrefix(file.Name, "templates/") || !strings.Contains(file.Name, "/")) && mentions(file.Data)
		})
	})
	if found || len(values) == 0 {
		return found
	}
	text, err := yaml.Marshal(values)
	return err == nil && mentions(text)
}

// load loads and renders the chart. It returns false if the chart cannot be loaded, which
// Helm's rules report. If the chart cannot be rendered, it returns true, and the
// declarations in Chart.yaml are still checked.
func (i *inspection) load(root *source.Files, canonical []*chartloader.BufferedFile) bool {
	var err error
	if i.chart, err = chartloader.LoadFiles(canonical); err != nil {
		return false
	}
	files := root.Match(i.chart)
	i.declared = map[string]*source.Files{}
	i.locateDeclared(i.chart, i.chart.Name(), files)
	declaration, problems := chartloader.InspectDeclarations(i.chart)
	i.addProblems(declaration, problems)

	if err := chartutil.ProcessDependenciesWithMerge(i.chart, i.options.Values); err != nil {
		return false
	}
	i.tree = render.ChartTree(declaration, i.chart)
	i.definitions, i.sources = map[string]*source.Files{}, map[string]string{}
	i.locate(i.chart, files)
	i.render()
	return true
}

// locateDeclared adds the files of c and its subcharts to i.declared. at is the directory
// of c.
func (i *inspection) locateDeclared(c *chart.Chart, at string, files source.ByChart) {
	i.declared[path.Join(at, chartutil.ChartfileName)] = files.Of(c)
	for _, sub := range c.Dependencies() {
		i.locateDeclared(sub, path.Join(at, chartutil.ChartsDir, sub.Name()), files)
	}
}

// locate adds the files of c and its subcharts, after disabled ones are removed, to
// i.definitions and i.sources.
func (i *inspection) locate(c *chart.Chart, files source.ByChart) {
	if f := files.Of(c); f != nil {
		i.definitions[path.Join(c.ChartFullPath(), chartutil.ChartfileName)] = f
		for _, t := range c.Templates {
			i.sources[path.Join(c.ChartFullPath(), t.Name)] = f.Prefix + t.Name
		}
	}
	for _, sub := range c.Dependencies() {
		i.locate(sub, files)
	}
}

// addProblems adds findings about the errors that chartloader.InspectDeclarations returned.
func (i *inspection) addProblems(d *chartloader.Declaration, problems []error) {
	for _, problem := range problems {
		i.addProblem(Error, problem)
	}
	var walk func(d *chartloader.Declaration)
	walk = func(d *chartloader.Declaration) {
		if d.Problem != nil {
			severity := Warning
			if d.Sequenced() {
				severity = Error
			}
			i.addProblem(severity, d.Problem)
		}
		for _, sub := range d.Subcharts {
			walk(sub)
		}
	}
	walk(d)
}

func (i *inspection) render() {
	values, err := chartutil.CoalesceValues(i.chart, i.options.Values)
	if err != nil {
		return
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	if i.options.KubeVersion != nil {
		capabilities.KubeVersion = *i.options.KubeVersion
	}
	const skipSchema = true // Helm's rules check the schema
	i.values, err = chartutil.ToRenderValuesWithSchemaValidation(i.chart, values,
		chartutil.ReleaseOptions{Name: "test-release", Namespace: i.options.Namespace, Revision: 1, IsInstall: true}, capabilities, skipSchema)
	if err != nil {
		return
	}
	if rendered, err := i.run(); err == nil {
		i.rendered = rendered
	}
}

// run renders the templates with i.values. It leaves out NOTES.txt.
func (i *inspection) run() (map[string]string, error) {
	e := engine.Engine{LintMode: true}
	files, err := e.Render(i.chart, i.values)
	maps.DeleteFunc(files, func(name, _ string) bool { return strings.HasSuffix(name, "NOTES.txt") })
	return files, err
}
