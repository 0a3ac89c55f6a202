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

// markedRendering is the result of rendering the chart with marks (see source.Mark). A mark is
// a number after a key in a template, which remains in the output and shows where the key
// comes from.
type markedRendering struct {
	// places has the position of the key for each mark, with the number of the mark as the
	// index. rendered is the output.
	places   []source.Position
	rendered map[string]string
	// files caches the result of marksIn for each file.
	files map[string]map[objectPlace]map[string]int
}

// at returns the position in the templates of the annotation key of o. If key is empty, it
// is the position of o itself. If it cannot be determined, the result contains only the
// file.
func (i *inspection) at(o *object, key string) source.Position {
	if p, known := i.exactly(o, key); known {
		return p
	}
	return i.file(o.file)
}

// file returns the position, without a line, of a template or Chart.yaml. rendered is its
// name in the output or in an error of the plan.
func (i *inspection) file(rendered string) source.Position {
	if path, known := i.sources[rendered]; known {
		return source.Position{File: path}
	}
	if f, known := i.definitions[rendered]; known {
		return f.At(chartutil.ChartfileName, nil)
	}
	_, below, _ := strings.Cut(rendered, "/")
	return source.Position{File: below}
}

// exactly is like at, but reports false if the line is unknown.
func (i *inspection) exactly(o *object, key string) (source.Position, bool) {
	if i.marked == nil {
		i.marked = i.renderMarked()
	}
	if key == "" {
		key = "kind"
	}
	number, known := i.marksIn(o.file)[o.objectPlace][key]
	if !known || number >= len(i.marked.places) {
		return source.Position{}, false
	}
	return i.marked.places[number], true
}

// renderMarked adds marks to the templates and renders them. It changes the loaded chart.
// Therefore it must be called after everything else has been rendered.
func (i *inspection) renderMarked() *markedRendering {
	m := &markedRendering{files: map[string]map[objectPlace]map[string]int{}}
	var markAll func(c *chart.Chart)
	markAll = func(c *chart.Chart) {
		templates := make([]*chart.File, len(c.Templates))
		for n, t := range c.Templates {
			templates[n] = t
			if file, known := i.sources[path.Join(c.ChartFullPath(), t.Name)]; known {
				templates[n] = &chart.File{Name: t.Name, Data: source.Mark(file, t.Data, &m.places)}
			}
		}
		c.Templates = templates
		for _, sub := range c.Dependencies() {
			markAll(sub)
		}
	}
	markAll(i.chart)
	if rendered, err := i.run(); err == nil {
		m.rendered = rendered
	}
	return m
}

// marksIn returns the marks of each object in a file of the output. They are grouped by the
// key that they mark, as marksOf returns them.
func (i *inspection) marksIn(file string) map[objectPlace]map[string]int {
	if marks, known := i.marked.files[file]; known {
		return marks
	}
	marks := map[objectPlace]map[string]int{}
	i.marked.files[file] = marks
	documents, marked := render.Split(i.rendered[file]), render.Split(i.marked.rendered[file])
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
			marks[objectPlace{file, d, index}] = marksOf(node)
		}
	}
	return marks
}

// marksOf returns the numbers of the marks in one object, by key. The key is "kind", the
// key of an annotation, or for a misplaced annotation the field and its key, joined with a
// dot.
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
	read(yamledit.Lookup(node, "metadata"), "", func(key string) bool { return key == hookModeField })
	for _, where := range misplacedKeyPaths() {
		read(yamledit.Lookup(node, where...), strings.Join(where, ".")+".", annotation.IsSequencingKey)
	}
	read(yamledit.Lookup(node, "metadata", "annotations"), "", func(string) bool { return true })
	return marks
}

// atDependsOn returns the position of the annotation key that contains the name layer, in
// any object of the file.
func (i *inspection) atDependsOn(file, key, layer string) source.Position {
	for _, o := range i.objects {
		if o.file == file && slices.Contains(namesUnder(o.annotations, key), layer) {
			return i.at(o, key)
		}
	}
	return i.file(file)
}

// atID returns the position of the annotation key in the object that an error of the plan
// is about. If several objects have this id, it is the last one with the annotation.
func (i *inspection) atID(file string, id sequencer.ID, key string) source.Position {
	found := i.find(file, id)
	slices.Reverse(found)
	for _, o := range found {
		if key == "" || yamledit.Lookup(o.annotations, key) != nil || key == hookModeField {
			return i.at(o, key)
		}
	}
	return i.file(file)
}

// definitionAt returns the files of the chart whose Chart.yaml has this path, or nil if it
// is unknown.
func (i *inspection) definitionAt(file string) *source.Files {
	if f := i.definitions[file]; f != nil {
		return f
	}
	return i.declared[file]
}
