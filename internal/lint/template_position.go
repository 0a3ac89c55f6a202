// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/lint/source"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// markedRendering contains the result of rendering the chart with marks (see source.Mark). A
// mark is a number that is appended to a key in a template. It remains in the rendered
// output, and shows from where in the templates the key comes.
type markedRendering struct {
	// positions contains the position of the key with mark n at index n.
	positions []source.Position
	rendered  map[string]string // the rendered templates by name
	// files caches the results of marksIn by file.
	files map[string]map[renderedObjectKey]map[string]int
}

// position returns the position in the templates of the annotation key of o or, if key is
// empty, of o itself. If the line is unknown, the result contains only the file.
func (i *chartInspection) position(o *renderedObject, key string) source.Position {
	if p, ok := i.exactPosition(o, key); ok {
		return p
	}
	return i.filePosition(o.file)
}

// filePosition returns the position, without a line, of a template or Chart.yaml. name is
// its name in the rendered output and in the errors of package sequencer, which begins with
// the name of the root chart.
func (i *chartInspection) filePosition(name string) source.Position {
	if path, known := i.templatePaths[name]; known {
		return source.Position{File: path}
	}
	if f, known := i.filesByChartFile[name]; known {
		return f.At(chartutil.ChartfileName, nil)
	}
	_, inRootChart, _ := strings.Cut(name, "/")
	return source.Position{File: inRootChart}
}

// exactPosition is like position, but returns false if the line is unknown.
func (i *chartInspection) exactPosition(o *renderedObject, key string) (source.Position, bool) {
	if i.marked == nil {
		i.marked = i.renderMarked()
	}
	if key == "" {
		key = "kind"
	}
	number, known := i.marksIn(o.file)[o.renderedObjectKey][key]
	if !known || number >= len(i.marked.positions) {
		return source.Position{}, false
	}
	return i.marked.positions[number], true
}

// renderMarked adds marks to the templates of i.chart and renders them. Because the marks
// remain in i.chart, it must be called after renderChart.
func (i *chartInspection) renderMarked() *markedRendering {
	m := &markedRendering{files: map[string]map[renderedObjectKey]map[string]int{}}
	var markAll func(c *chart.Chart)
	markAll = func(c *chart.Chart) {
		templates := make([]*chart.File, len(c.Templates))
		for n, t := range c.Templates {
			templates[n] = t
			if file, known := i.templatePaths[path.Join(c.ChartFullPath(), t.Name)]; known {
				templates[n] = &chart.File{Name: t.Name, Data: source.Mark(file, t.Data, &m.positions)}
			}
		}
		c.Templates = templates
		for _, sub := range c.Dependencies() {
			markAll(sub)
		}
	}
	markAll(i.chart)
	if rendered, err := i.rendering.RenderTemplates(); err == nil {
		m.rendered = rendered
	}
	return m
}

// marksIn returns the result of marksOf for each object in a file of the rendered output. It
// omits documents in which the marks have changed more than the marked keys.
func (i *chartInspection) marksIn(file string) map[renderedObjectKey]map[string]int {
	if marks, known := i.marked.files[file]; known {
		return marks
	}
	marks := map[renderedObjectKey]map[string]int{}
	i.marked.files[file] = marks
	documents, marked := render.Split(i.rendering.Templates[file]), render.Split(i.marked.rendered[file])
	if len(documents) != len(marked) {
		return marks
	}
	for d := range documents {
		if !source.SameButForMarks(marked[d], documents[d]) {
			continue
		}
		root, err := yamledit.Parse(marked[d])
		if err != nil || root == nil {
			continue
		}
		for index, node := range render.Objects(root) {
			marks[renderedObjectKey{file, d, index}] = marksOf(node)
		}
	}
	return marks
}

// marksOf returns the numbers of the marks in one object, by the marked key. A marked key is
// "kind", the key of an annotation or, for an annotation in the wrong field, that field and
// the key, as in "metadata.labels.helm.sh/layer".
func marksOf(node *yaml.Node) map[string]int {
	marks := map[string]int{}
	read := func(mapping *yaml.Node, prefix string, wanted func(key string) bool) {
		mapping = yamledit.Resolve(mapping)
		if mapping == nil || mapping.Kind != yaml.MappingNode {
			return
		}
		for n := 0; n < len(mapping.Content); n += 2 {
			if key, number := source.CutMark(mapping.Content[n].Value); number >= 0 && wanted(key) {
				marks[prefix+key] = number
			}
		}
	}
	read(node, "", func(key string) bool { return key == "kind" })
	read(yamledit.Lookup(node, "metadata"), "", func(key string) bool { return key == annotation.HookModeField })
	for _, where := range misplacedKeyPaths() {
		read(yamledit.Lookup(node, where...), strings.Join(where, ".")+".", annotation.IsSequencingKey)
	}
	read(yamledit.Lookup(node, "metadata", "annotations"), "", func(string) bool { return true })
	return marks
}

// dependsOnPosition returns the position of the annotation key in the first object of the
// file whose annotation names the layer. If there is no such object, the result contains
// only the file.
func (i *chartInspection) dependsOnPosition(file, key, layer string) source.Position {
	for _, o := range i.objects {
		if o.file == file && slices.Contains(namesUnder(o.annotations, key), layer) {
			return i.position(o, key)
		}
	}
	return i.filePosition(file)
}

// positionByID returns the position of the annotation key of the object id or, if key is
// empty, of the object. If several objects have this id, the last one with the annotation
// counts. If no object has the annotation, the result contains only the file.
func (i *chartInspection) positionByID(file string, id sequencer.ID, key string) source.Position {
	found := i.find(file, id)
	slices.Reverse(found)
	for _, o := range found {
		if key == "" || yamledit.Lookup(o.annotations, key) != nil || key == annotation.HookModeField {
			return i.position(o, key)
		}
	}
	return i.filePosition(file)
}

// filesOfChart returns the source files of the chart whose Chart.yaml has this path, or nil
// if there is no such chart.
func (i *chartInspection) filesOfChart(chartFile string) *source.Files {
	if f := i.filesByChartFile[chartFile]; f != nil {
		return f
	}
	return i.filesByDeclaration[chartFile]
}
