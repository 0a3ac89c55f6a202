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

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/chartformat"
	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/declaration"
	"github.com/ordered-helm/helm/internal/hookneeds"
	"github.com/ordered-helm/helm/internal/lint/rule"
	"github.com/ordered-helm/helm/internal/lint/scripts"
	"github.com/ordered-helm/helm/internal/lint/source"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// chartInspection checks one chart with the rules of this package, and collects the findings.
type chartInspection struct {
	findings
	options RenderOptions

	chart  *chart.Chart
	values chartutil.Values
	// tree contains the chart and its enabled subcharts, with the order that they declare.
	tree *sequencer.Chart

	// Both maps lead from the path of a Chart.yaml to the source files of its chart. In
	// filesByDeclaration, the path is built from the names of charts, as in
	// declaration.Chart.File. In filesByChartFile, it is built from their names in
	// the release, which can be aliases, for example "shop/charts/db/Chart.yaml".
	filesByDeclaration, filesByChartFile map[string]*source.Files
	// templatePaths maps the name of a template in the rendered output to its path in the
	// chart.
	templatePaths map[string]string

	rendered map[string]string // the rendered templates by name
	objects  []*renderedObject // the objects in them
	hooks    []hookneeds.Hook  // the hooks among them
	marked   *markedRendering  // nil until a position in a template is needed
}

// checkOrder checks a chart with the rules of this package. files are the original files.
// canonical is the result of canonicalFiles, or nil if it returned an error; then only
// Chart.yaml is checked.
func checkOrder(files, canonical []*chartloader.BufferedFile, o RenderOptions) []Finding {
	i := &chartInspection{options: o}
	root := source.New(files)
	root.Walk(i.checkChartFile)
	root.Walk(i.checkSchema)
	root.Walk(i.checkLibraryText)
	root.Walk(func(c *source.Files) {
		for _, p := range scripts.Check(c) {
			i.add(p.Rule, p.At, p.Message)
		}
	})
	if canonical != nil && i.isRelevant(root) && i.load(root, canonical) {
		i.readObjects()
		inspection := sequencer.Inspect(sequencer.Input{Root: i.tree, Resources: i.resources(), Namespace: o.Namespace})
		if plan := inspection.Plan; plan != nil {
			plan.Unmet = append(plan.Unmet, hookneeds.Operation{Namespace: o.Namespace}.Find(plan, i.hooks)...)
		}
		i.checkPlan(inspection)
	}
	return i.sorted()
}

// orderKeywords returns the parts of annotation keys and fields that the rules of this
// package are about. A chart that contains none of them is rendered only by Helm's rules.
func orderKeywords() []string {
	return []string{
		"helm.sh/layer", "helm.sh/resource-group", "helm.sh/readiness", "helm.sh/depend", "depends-on.helm.sh",
		"helm.sh/sequencing", "hooks-in-parallel", annotation.HookModeField, annotation.DependsOnField, "hook-delete-timeout", "crd-install", "test-failure",
	}
}

// isRelevant reports whether a chart has apiVersion v3 or helm.sh/v3, or contains any of
// orderKeywords. Other charts are rendered only by Helm's rules, to save time.
func (i *chartInspection) isRelevant(root *source.Files) bool {
	return apiVersion(root.Own) == declaration.APIVersionV3 || chartformat.IsV3(root.Data(chartutil.ChartfileName)) ||
		mentionsOrderKeywords(root, i.options.Values)
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

// load loads and renders the chart, and adds findings about invalid declarations of an order
// in each Chart.yaml. It returns false if the chart cannot be loaded; Helm's rules report
// why. If the chart cannot be rendered, load returns true, and i.rendered is empty.
func (i *chartInspection) load(root *source.Files, canonical []*chartloader.BufferedFile) bool {
	var err error
	if i.chart, err = chartloader.LoadFiles(canonical); err != nil {
		return false
	}
	files := root.Match(i.chart)
	i.filesByDeclaration = map[string]*source.Files{}
	i.mapDeclarations(i.chart, i.chart.Name(), files)
	i.checkApplicationsAsLibraries()
	declaration, errs := declaration.Inspect(i.chart)
	i.addDeclarationErrors(declaration, errs)

	if err := chartutil.ProcessDependenciesWithMerge(i.chart, i.options.Values); err != nil {
		return false
	}
	i.tree = render.ChartTree(declaration, i.chart)
	i.filesByChartFile, i.templatePaths = map[string]*source.Files{}, map[string]string{}
	i.mapProcessedCharts(i.chart, files)
	i.renderChart()
	return true
}

// mapDeclarations adds the files of c and its subcharts to i.filesByDeclaration. dir is the
// directory of c, built from the names of charts.
func (i *chartInspection) mapDeclarations(c *chart.Chart, dir string, files source.ByChart) {
	i.filesByDeclaration[path.Join(dir, chartutil.ChartfileName)] = files.Of(c)
	for _, sub := range c.Dependencies() {
		i.mapDeclarations(sub, path.Join(dir, chartutil.ChartsDir, sub.Name()), files)
	}
}

// mapProcessedCharts adds the files of c and its subcharts to i.filesByChartFile and
// i.templatePaths. It must be called after Helm has processed the dependencies: then
// disabled subcharts are missing, and aliases are the names of charts.
func (i *chartInspection) mapProcessedCharts(c *chart.Chart, files source.ByChart) {
	if f := files.Of(c); f != nil {
		i.filesByChartFile[path.Join(c.ChartFullPath(), chartutil.ChartfileName)] = f
		for _, t := range c.Templates {
			i.templatePaths[path.Join(c.ChartFullPath(), t.Name)] = f.Prefix + t.Name
		}
	}
	for _, sub := range c.Dependencies() {
		i.mapProcessedCharts(sub, files)
	}
}

// addDeclarationErrors adds findings about the errors that declaration.Inspect
// returned: errs, and the field Problem of d and of the declarations of its subcharts. A
// Problem is only a warning if the order that its chart declares does not apply.
func (i *chartInspection) addDeclarationErrors(d *declaration.Chart, errs []error) {
	for _, err := range errs {
		i.addDeclarationError(rule.Error, err)
	}
	var walk func(d *declaration.Chart)
	walk = func(d *declaration.Chart) {
		if d.Problem != nil {
			severity := rule.Warning
			if d.Sequenced() {
				severity = rule.Error
			}
			i.addDeclarationError(severity, d.Problem)
		}
		for _, sub := range d.Subcharts {
			walk(sub)
		}
	}
	walk(d)
}

// renderChart sets i.values and i.rendered. If the chart cannot be rendered, i.rendered
// stays nil, and Helm's rules report the error.
func (i *chartInspection) renderChart() {
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
	if rendered, err := i.renderTemplates(); err == nil {
		i.rendered = rendered
	}
}

// renderTemplates renders the templates of i.chart with i.values. It omits NOTES.txt.
func (i *chartInspection) renderTemplates() (map[string]string, error) {
	e := engine.Engine{LintMode: true}
	files, err := e.Render(i.chart, i.values)
	maps.DeleteFunc(files, func(name, _ string) bool { return strings.HasSuffix(name, "NOTES.txt") })
	return files, err
}
