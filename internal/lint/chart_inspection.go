// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/chartformat"
	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/declaration"
	"github.com/ordered-helm/helm/internal/hookneeds"
	"github.com/ordered-helm/helm/internal/lint/helmrules"
	"github.com/ordered-helm/helm/internal/lint/orderfiles"
	"github.com/ordered-helm/helm/internal/lint/problem"
	"github.com/ordered-helm/helm/internal/lint/rendering"
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

	chart *chart.Chart
	// tree contains the chart and its enabled subcharts, with the order that they declare.
	tree *sequencer.Chart

	// files leads from a chart to its source files.
	files source.ByChart
	// Both maps lead from the path of a Chart.yaml to the source files of its chart. In
	// filesByDeclaration, the path is built from the names of charts, as in
	// declaration.Chart.File. In filesByChartFile, it is built from their names in
	// the release, which can be aliases, for example "shop/charts/db/Chart.yaml".
	filesByDeclaration, filesByChartFile map[string]*source.Files
	// templatePaths maps the name of a template or script, as the source of rendered documents,
	// to its path in the chart.
	templatePaths map[string]string

	orderFiles *orderfiles.Files

	rendering *rendering.Rendering // nil until the chart is rendered
	objects   []*renderedObject    // the objects in it
	hooks     []renderedHook       // the hooks among them
	marked    *markedRendering     // nil until a position in a template is needed
}

// inspect checks a chart with the rules of this package. If files has no canonical form, only its files are
// checked, not what they render. inspect returns an error if the chart could not be checked.
func inspect(ctx context.Context, files helmrules.Files, o RenderOptions) (*chartInspection, error) {
	i := &chartInspection{options: o}
	root := source.New(files.Original)
	root.Walk(i.checkChartFile)
	root.Walk(i.checkSchema)
	root.Walk(i.checkLibraryText)
	root.Walk(func(c *source.Files) {
		i.addProblems(scripts.Check(ctx, c))
		i.addProblems(scripts.CheckIgnored(files.Dir, c))
		i.addProblems(orderfiles.CheckIgnored(files.Dir, c))
	})
	if files.Canonical == nil || !i.isRelevant(root) || !i.load(root, files.Canonical) {
		return i, ctx.Err()
	}
	if err := i.renderChart(ctx); err != nil {
		return nil, err
	}
	i.readObjects()
	i.checkOrder()
	return i, nil
}

// checkOrder adds findings about the order that the charts declare for an installation.
func (i *chartInspection) checkOrder() {
	in := sequencer.Input{
		Root: i.tree, Resources: i.resources(), Namespace: i.options.Namespace, OrderFiles: i.orderFiles.Set,
		Operation: sequencer.Install, IgnoreDeployOn: true, // an upgrade deploys all resources sooner or later
	}
	var needed []hookneeds.Hook
	for _, h := range i.hooks {
		in.Hooks = append(in.Hooks, sequencer.Hook{Chart: h.object.chart, Events: h.needed.Events})
		needed = append(needed, h.needed)
	}
	inspection := sequencer.Inspect(in)
	if plan := inspection.Plan; plan != nil {
		op := hookneeds.Operation{Namespace: in.Namespace, ChartOf: func(file string) string { return render.ChartOf(i.tree, file) }}
		plan.Unmet = append(plan.Unmet, op.Find(plan, needed)...)
		i.checkExternal(plan)
		i.checkLateHooks(plan)
	}
	i.checkPlan(inspection)
}

// orderKeywords returns the parts of annotation keys and fields that the rules of this
// package are about. A chart that contains none of them is rendered only by Helm's rules.
func orderKeywords() []string {
	return []string{
		"helm.sh/layer", "helm.sh/resource-group", "helm.sh/readiness", "helm.sh/depend", "depends-on.helm.sh", "helm.sh/external",
		"helm.sh/sequencing", "hooks-in-parallel", annotation.HookModeField, annotation.DependsOnField, "hook-delete-timeout", "hook-policy", "crd-install", "test-failure",
		"hook-scope", annotation.HookScopeField, "helm.sh/deploy", annotation.OnImmutable,
	}
}

// isRelevant reports whether a chart has apiVersion v3 or helm.sh/v3, contains any of
// orderKeywords, has an order file, or has scripts or other handlers. Other charts are rendered only by Helm's rules, to save time.
func (i *chartInspection) isRelevant(root *source.Files) bool {
	version := root.Node("apiVersion")
	return version != nil && version.Value == declaration.APIVersionV3 || chartformat.IsV3(root.Data(chartutil.ChartfileName)) ||
		mentionsOrderKeywords(root, i.options.Values) || i.options.OrderFile != nil || orderfiles.Contains(root) || i.options.Handlers.Emitter != nil || scripts.Contains(root)
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

// load loads the chart, and adds findings about invalid declarations of an order in each Chart.yaml.
// It returns false if the chart cannot be loaded; Helm's rules report why.
func (i *chartInspection) load(root *source.Files, canonical []*chartloader.BufferedFile) bool {
	var err error
	if i.chart, err = chartloader.LoadFiles(canonical); err != nil {
		return false
	}
	i.files = root.Match(i.chart)
	i.filesByDeclaration = map[string]*source.Files{}
	i.mapDeclarations(i.chart, i.chart.Name())
	i.checkApplicationsAsLibraries()
	declaration, errs := declaration.Inspect(i.chart)
	i.addDeclarationErrors(declaration, errs)

	if err := chartutil.ProcessDependenciesWithMerge(i.chart, i.options.Values); err != nil {
		return false
	}
	i.tree = render.ChartTree(declaration, i.chart)
	i.filesByChartFile, i.templatePaths = map[string]*source.Files{}, map[string]string{}
	i.mapProcessedCharts(i.chart)
	var problems []problem.Problem
	i.orderFiles, problems = orderfiles.Load(i.chart, i.filesByChartFile, i.options.OrderFile)
	i.addProblems(problems)
	return true
}

// mapDeclarations adds the files of c and its subcharts to i.filesByDeclaration. dir is the
// directory of c, built from the names of charts.
func (i *chartInspection) mapDeclarations(c *chart.Chart, dir string) {
	i.filesByDeclaration[path.Join(dir, chartutil.ChartfileName)] = i.files.Of(c)
	for _, sub := range c.Dependencies() {
		i.mapDeclarations(sub, path.Join(dir, chartutil.ChartsDir, sub.Name()))
	}
}

// mapProcessedCharts adds the files of c and its subcharts to i.filesByChartFile and
// i.templatePaths. It must be called after Helm has processed the dependencies: then
// disabled subcharts are missing, and aliases are the names of charts.
func (i *chartInspection) mapProcessedCharts(c *chart.Chart) {
	if f := i.files.Of(c); f != nil {
		i.filesByChartFile[path.Join(c.ChartFullPath(), chartutil.ChartfileName)] = f
		for _, t := range c.Templates {
			i.templatePaths[path.Join(c.ChartFullPath(), t.Name)] = f.Prefix + t.Name
		}
		for _, script := range c.Files {
			if chartformat.IsScript(script.Name) {
				i.templatePaths[path.Join(c.ChartFullPath(), script.Name)] = f.Prefix + script.Name
			}
		}
	}
	for _, sub := range c.Dependencies() {
		i.mapProcessedCharts(sub)
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

// renderChart sets i.rendering. It also adds findings about scripts that cannot run, or that fail.
func (i *chartInspection) renderChart(ctx context.Context) error {
	var err error
	o := i.options
	i.rendering, err = rendering.Render(ctx, i.chart, rendering.Options{
		Values: o.Values, Namespace: o.Namespace, KubeVersion: o.KubeVersion, SkipSchemaValidation: o.SkipSchemaValidation,
		SkipScripts: i.hasInvalidScripts(), Handlers: o.Handlers,
	})
	if err != nil {
		return err
	}
	i.addProblems(scripts.CheckRun(i.rendering, scripts.Origins{Charts: i.files, Document: i.filePosition}))
	return nil
}

func (i *chartInspection) addProblems(problems []problem.Problem) {
	for _, p := range problems {
		i.add(p.Rule, p.At, p.Message)
	}
}

// hasInvalidScripts reports whether a script or the permissions of a chart are invalid. Then the scripts do not
// run, because they would fail.
func (i *chartInspection) hasInvalidScripts() bool {
	return slices.ContainsFunc(i.findings, func(f Finding) bool {
		return f.Rule == rule.InvalidScript.Name || f.Rule == rule.InvalidPermissions.Name
	})
}
