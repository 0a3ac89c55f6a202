// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package source finds positions in the source files of a chart, for messages: the line of a
// field in Chart.yaml, and the line in a template from which a key of the rendered output
// comes.
package source

import (
	"bytes"
	"path"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/ordered-helm/helm/internal/chartformat"
	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// requirementsFile contains the dependencies of a chart of apiVersion v1.
const requirementsFile = "requirements.yaml"

// Position is a position in a file of a chart.
type Position struct {
	// File is the path of the file relative to the root chart, with slashes.
	File string
	// Line and Column start at 1. They are 0 if only the file is known.
	Line, Column int
}

// Files contains the source files of a chart and of its subcharts.
type Files struct {
	// Prefix is the path of the chart within the root chart, for example "charts/db/". It
	// is empty for the root chart.
	Prefix string
	// Own contains the files of the chart without its subcharts. Their names are relative
	// to the chart.
	Own []*chartloader.BufferedFile

	subcharts []*Files
	parsed    map[string]*yaml.Node // caches the results of Parse
}

// New returns the Files of the root chart that consists of files. It also unpacks packed
// subcharts. The names of files are relative to the root chart.
func New(files []*chartloader.BufferedFile) *Files { return newFiles("", files) }

// newFiles is like New, for a chart with the given Prefix.
func newFiles(prefix string, files []*chartloader.BufferedFile) *Files {
	f := &Files{Prefix: prefix, parsed: map[string]*yaml.Node{}}
	var order []string
	subchartFiles := map[string][]*chartloader.BufferedFile{} // by the name of its directory
	for _, file := range files {
		inCharts, isInCharts := strings.CutPrefix(file.Name, chartutil.ChartsDir+"/")
		name, rest, isDirectory := strings.Cut(inCharts, "/")
		switch {
		case !isInCharts || name == "" || name[0] == '_' || name[0] == '.':
			f.Own = append(f.Own, file)
		case isDirectory:
			if subchartFiles[name] == nil {
				order = append(order, name)
			}
			subchartFiles[name] = append(subchartFiles[name], &chartloader.BufferedFile{Name: rest, Data: file.Data})
		case path.Ext(name) == ".tgz":
			f.addArchive(file.Data)
		default:
			f.Own = append(f.Own, file)
		}
	}
	for _, name := range order {
		f.subcharts = append(f.subcharts, newFiles(prefix+chartutil.ChartsDir+"/"+name+"/", subchartFiles[name]))
	}
	return f
}

// addArchive adds the packed subchart in data. Its files get the paths that they would have
// if it were unpacked in the charts directory. An archive that cannot be read is ignored,
// because Helm's rules report it.
func (f *Files) addArchive(data []byte) {
	files, err := chartloader.LoadArchiveFiles(bytes.NewReader(data))
	if err != nil {
		return
	}
	packed := newFiles("", files)
	name := packed.Node("name")
	if name == nil {
		return
	}
	f.subcharts = append(f.subcharts, newFiles(f.Prefix+chartutil.ChartsDir+"/"+name.Value+"/", files))
}

// Parse returns the root node of the named YAML file of the chart, or nil if the file does
// not exist or cannot be parsed.
func (f *Files) Parse(name string) *yaml.Node {
	if root, known := f.parsed[name]; known {
		return root
	}
	var root *yaml.Node
	if data := f.Data(name); data != nil {
		var err error
		if root, err = yamledit.Parse(string(data)); err != nil {
			root = nil
		}
	}
	f.parsed[name] = root
	return root
}

// Walk calls visit for the chart and all its subcharts.
func (f *Files) Walk(visit func(*Files)) {
	visit(f)
	for _, sub := range f.subcharts {
		sub.Walk(visit)
	}
}

// At returns the position of the YAML node n in the named file of the chart. If n is nil,
// the position has no line.
func (f *Files) At(name string, n *yaml.Node) Position {
	p := Position{File: f.Prefix + name}
	if n != nil {
		p.Line, p.Column = n.Line, n.Column
	}
	return p
}

// Field returns the position of a field in Chart.yaml. keys are the keys that lead from the
// root of a file in the flat format to the field. If the field does not exist, the position has
// no line.
func (f *Files) Field(keys ...string) Position {
	root := f.Parse(chartutil.ChartfileName)
	return f.At(chartutil.ChartfileName, KeyNode(root, chartformat.Path(root, keys...)...))
}

// Node returns the value of a field in Chart.yaml, or nil if it does not exist. keys are as for
// Field.
func (f *Files) Node(keys ...string) *yaml.Node {
	root := f.Parse(chartutil.ChartfileName)
	return yamledit.Lookup(root, chartformat.Path(root, keys...)...)
}

// Data returns the content of the named file of the chart, or nil if there is no such file.
func (f *Files) Data(name string) []byte {
	i := slices.IndexFunc(f.Own, func(file *chartloader.BufferedFile) bool { return file.Name == name })
	if i < 0 {
		return nil
	}
	return f.Own[i].Data
}

// KeyNode returns the YAML node of the last of the keys, which lead to it from root. It
// returns nil if the key does not exist.
func KeyNode(root *yaml.Node, keys ...string) *yaml.Node {
	last := len(keys) - 1
	mapping := yamledit.Resolve(root)
	if last > 0 {
		mapping = yamledit.Resolve(yamledit.Lookup(root, keys[:last]...))
	}
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == keys[last] {
			return mapping.Content[i]
		}
	}
	return nil
}

// PathNode returns the YAML node to which a path such as "charts[1].dependsOn" leads: the node of the last key or
// item that exists. It returns nil if there is none.
func PathNode(root *yaml.Node, path string) *yaml.Node {
	var found *yaml.Node
	for segment := range strings.SplitSeq(path, ".") {
		key, index, isItem := strings.Cut(strings.TrimSuffix(segment, "]"), "[")
		node := KeyNode(root, key)
		if node == nil {
			return found
		}
		found, root = node, yamledit.Resolve(yamledit.Lookup(root, key))
		if !isItem {
			continue
		}
		n, err := strconv.Atoi(index)
		if err != nil || root == nil || root.Kind != yaml.SequenceNode || n < 0 || n >= len(root.Content) {
			return found
		}
		found, root = root.Content[n], yamledit.Resolve(root.Content[n])
	}
	return found
}

// Dependency is one entry under "dependencies", in Chart.yaml or requirements.yaml.
type Dependency struct {
	// File is the name of the file, relative to the chart.
	File string
	// Node is the YAML node of the entry.
	Node *yaml.Node
}

// Dependencies returns the entries under "dependencies", in the order of the file. A list in
// requirements.yaml takes precedence over one in Chart.yaml.
func (f *Files) Dependencies() []Dependency {
	requirements := f.Parse(requirementsFile)
	for _, place := range []struct {
		file string
		list *yaml.Node
	}{
		{requirementsFile, yamledit.Lookup(requirements, "dependencies")},
		{requirementsFile, yamledit.Lookup(requirements, "requirements")}, // in the format helm.sh/v3
		{chartutil.ChartfileName, f.Node("dependencies")},
	} {
		if place.list == nil || place.list.Kind != yaml.SequenceNode {
			continue
		}
		entries := make([]Dependency, len(place.list.Content))
		for i, n := range place.list.Content {
			entries[i] = Dependency{place.file, yamledit.Resolve(n)}
		}
		return entries
	}
	return nil
}

// DependencyField returns the position of a field in an entry under "dependencies". title is
// the alias of the entry or, if it has no alias, its name. If not exactly one entry with
// this title has the field, the position has no line.
func (f *Files) DependencyField(title, field string) Position {
	var found []Position
	for _, d := range f.Dependencies() {
		name := yamledit.Lookup(d.Node, "alias")
		if name == nil || name.Value == "" {
			name = yamledit.Lookup(d.Node, "name")
		}
		if key := KeyNode(d.Node, field); key != nil && name != nil && name.Value == title {
			found = append(found, f.At(d.File, key))
		}
	}
	if len(found) != 1 {
		return f.At(chartutil.ChartfileName, nil)
	}
	return found[0]
}

// ByChart maps loaded charts to their source files. The key is the first file in
// chart.Chart.Raw, because Helm copies a subchart that has several aliases, and all copies
// share their Raw files.
type ByChart map[*chart.File]*Files

// Of returns the source files of c, or nil if c is not in the map.
func (b ByChart) Of(c *chart.Chart) *Files {
	if len(c.Raw) == 0 {
		return nil
	}
	return b[c.Raw[0]]
}

// Match returns the source files of c and of its subcharts. c must have been loaded from f.
func (f *Files) Match(c *chart.Chart) ByChart {
	found := ByChart{}
	f.match(c, found)
	return found
}

func (f *Files) match(c *chart.Chart, found ByChart) {
	if len(c.Raw) > 0 {
		found[c.Raw[0]] = f
	}
	unmatched := slices.Clone(f.subcharts)
	for _, sub := range c.Dependencies() {
		i := slices.IndexFunc(unmatched, func(files *Files) bool { return files.wereLoadedAs(sub) })
		if i < 0 {
			continue
		}
		unmatched[i].match(sub, found)
		unmatched = slices.Delete(unmatched, i, i+1)
	}
}

// wereLoadedAs reports whether c was loaded from these files: the name, the version and the
// templates are the same.
func (f *Files) wereLoadedAs(c *chart.Chart) bool {
	for key, want := range map[string]string{"name": c.Name(), "version": c.Metadata.Version} {
		if have := f.Node(key); have == nil || have.Value != want {
			return false
		}
	}
	for _, t := range c.Templates {
		if !bytes.Equal(f.Data(t.Name), t.Data) {
			return false
		}
	}
	return true
}
