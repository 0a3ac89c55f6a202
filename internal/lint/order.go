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
	// Declaration.File. The keys of charts are paths in the tree of charts, such as
	// "shop/db". The keys of definitions are paths of a Chart.yaml with the names in this
	// tree, such as "shop/charts/db/Chart.yaml".
	declared, charts, definitions map[string]*chartFiles
	// sources maps the name of a template in the rendered output to its path in the chart.
	sources map[string]string

	rendered map[string]string
	objects  []*object
	marked   *markedRendering
}

// order checks a chart with the rules that Helm does not have. files are the original
// files. legal are the result of legalFiles, or nil if the chart cannot be loaded.
func order(files, legal []*chartloader.BufferedFile, o Options) []Finding {
	i := &inspection{options: o}
	root := newChartFiles("", files)
	root.walk(i.checkChartFile)
	if legal != nil && i.isRelevant(root) && i.load(root, legal) {
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
func (i *inspection) isRelevant(root *chartFiles) bool {
	return apiVersion(root.files) == chartloader.APIVersionV3 || mentionsOrderKeywords(root, i.options.Values)
}

// mentionsOrderKeywords reports whether a chart or its values contain any of orderKeywords.
func mentionsOrderKeywords(root *chartFiles, values map[string]any) bool {
	mentions := func(text []byte) bool {
		return slices.ContainsFunc(orderKeywords(), func(word string) bool { return bytes.Contains(text, []byte(word)) })
	}
	found := false
	root.walk(func(f *chartFiles) {
		found = found || slices.ContainsFunc(f.files, func(file *chartloader.BufferedFile) bool {
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
func (i *inspection) load(root *chartFiles, legal []*chartloader.BufferedFile) bool {
	var err error
	if i.chart, err = chartloader.LoadFiles(legal); err != nil {
		return false
	}
	folders := map[*chart.File]*chartFiles{}
	root.match(i.chart, folders)
	i.declared = map[string]*chartFiles{}
	i.locateDeclared(i.chart, i.chart.Name(), folders)
	declaration, problems := chartloader.InspectDeclarations(i.chart)
	i.addProblems(declaration, problems)

	if err := chartutil.ProcessDependenciesWithMerge(i.chart, i.options.Values); err != nil {
		return false
	}
	i.tree = render.ChartTree(declaration, i.chart)
	i.charts, i.definitions, i.sources = map[string]*chartFiles{}, map[string]*chartFiles{}, map[string]string{}
	i.locate(i.chart, i.chart.Name(), folders)
	i.render()
	return true
}

// locateDeclared adds the files of c and its subcharts to i.declared. at is the directory
// of c, and folders has the files of a chart by its first raw file.
func (i *inspection) locateDeclared(c *chart.Chart, at string, folders map[*chart.File]*chartFiles) {
	if len(c.Raw) > 0 {
		i.declared[path.Join(at, chartutil.ChartfileName)] = folders[c.Raw[0]]
	}
	for _, sub := range c.Dependencies() {
		i.locateDeclared(sub, path.Join(at, chartutil.ChartsDir, sub.Name()), folders)
	}
}

// locate adds the files of c and its subcharts, after disabled ones are removed, to
// i.charts, i.definitions and i.sources. at is the path of c in the tree of charts.
func (i *inspection) locate(c *chart.Chart, at string, folders map[*chart.File]*chartFiles) {
	if len(c.Raw) > 0 {
		if f := folders[c.Raw[0]]; f != nil {
			i.charts[at] = f
			i.definitions[path.Join(c.ChartFullPath(), chartutil.ChartfileName)] = f
			for _, t := range c.Templates {
				i.sources[path.Join(c.ChartFullPath(), t.Name)] = f.prefix + t.Name
			}
		}
	}
	for _, sub := range c.Dependencies() {
		i.locate(sub, at+"/"+sub.Name(), folders)
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
