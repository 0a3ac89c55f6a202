// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// requirementsFile contains the dependencies of charts of apiVersion v1.
const requirementsFile = "requirements.yaml"

// chartFiles are the files of a chart, and of the charts in it.
type chartFiles struct {
	// prefix is the path of the chart in the root chart: "" for the root, "charts/db/" for
	// a subchart.
	prefix string
	files  []*chartloader.BufferedFile // with their paths in this chart
	inside []*chartFiles

	definitions map[string]*yaml.Node // the parsed files, nil for files that cannot be parsed
}

// newChartFiles separates the files of a chart from those of its subcharts, including
// packed ones.
func newChartFiles(prefix string, files []*chartloader.BufferedFile) *chartFiles {
	f := &chartFiles{prefix: prefix, definitions: map[string]*yaml.Node{}}
	var order []string
	inside := map[string][]*chartloader.BufferedFile{}
	for _, file := range files {
		below, isInside := strings.CutPrefix(file.Name, chartutil.ChartsDir+"/")
		name, rest, isFolder := strings.Cut(below, "/")
		switch {
		case !isInside || name == "" || name[0] == '_' || name[0] == '.':
			f.files = append(f.files, file)
		case isFolder:
			if inside[name] == nil {
				order = append(order, name)
			}
			inside[name] = append(inside[name], &chartloader.BufferedFile{Name: rest, Data: file.Data})
		case path.Ext(name) == ".tgz":
			f.addArchive(file.Data)
		default:
			f.files = append(f.files, file)
		}
	}
	for _, name := range order {
		f.inside = append(f.inside, newChartFiles(prefix+chartutil.ChartsDir+"/"+name+"/", inside[name]))
	}
	return f
}

// addArchive adds a packed chart. The names of its files are as if it were unpacked. It
// ignores an archive that cannot be read, because Helm's rules report it.
func (f *chartFiles) addArchive(data []byte) {
	files, err := chartloader.LoadArchiveFiles(bytes.NewReader(data))
	if err != nil {
		return
	}
	packed := newChartFiles("", files)
	name := yamledit.Lookup(packed.definition(chartutil.ChartfileName), "name")
	if name == nil {
		return
	}
	f.inside = append(f.inside, newChartFiles(f.prefix+chartutil.ChartsDir+"/"+name.Value+"/", files))
}

// definition returns a file as YAML, or nil if the file does not exist or is not valid
// YAML.
func (f *chartFiles) definition(name string) *yaml.Node {
	if root, known := f.definitions[name]; known {
		return root
	}
	var root *yaml.Node
	if data := f.data(name); data != nil {
		var err error
		if root, err = yamledit.Parse(string(data)); err != nil {
			root = nil
		}
	}
	f.definitions[name] = root
	return root
}

func (f *chartFiles) data(name string) []byte {
	for _, file := range f.files {
		if file.Name == name {
			return file.Data
		}
	}
	return nil
}

// walk calls visit for the chart and all its subcharts.
func (f *chartFiles) walk(visit func(*chartFiles)) {
	visit(f)
	for _, inside := range f.inside {
		inside.walk(visit)
	}
}

// at returns the position of a node in a file of the chart.
func (f *chartFiles) at(name string, n *yaml.Node) position {
	p := position{File: f.prefix + name}
	if n != nil {
		p.Line, p.Column = n.Line, n.Column
	}
	return p
}

// field returns the position of the field of Chart.yaml at a path of keys. If the field
// does not exist, it is only the file.
func (f *chartFiles) field(keys ...string) position {
	return f.at(chartutil.ChartfileName, keyNode(f.definition(chartutil.ChartfileName), keys...))
}

// keyNode returns the node of the last key of a path.
func keyNode(root *yaml.Node, keys ...string) *yaml.Node {
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

// entry is one entry of a chart's dependencies.
type entry struct {
	file string
	node *yaml.Node
}

// dependencies returns the entries in their order.
func (f *chartFiles) dependencies() []entry {
	for _, name := range []string{requirementsFile, chartutil.ChartfileName} {
		list := yamledit.Resolve(yamledit.Lookup(f.definition(name), "dependencies"))
		if list == nil || list.Kind != yaml.SequenceNode {
			continue
		}
		entries := make([]entry, len(list.Content))
		for i, n := range list.Content {
			entries[i] = entry{name, yamledit.Resolve(n)}
		}
		return entries
	}
	return nil
}

// dependsOn returns the position of depends-on of the dependency with a name in the tree of
// charts. If there are several, it is only the file.
func (f *chartFiles) dependsOn(title string) position {
	var found []position
	for _, e := range f.dependencies() {
		name := yamledit.Lookup(e.node, "alias")
		if name == nil || name.Value == "" {
			name = yamledit.Lookup(e.node, "name")
		}
		if key := keyNode(e.node, dependsOnField); key != nil && name != nil && name.Value == title {
			found = append(found, f.at(e.file, key))
		}
	}
	if len(found) != 1 {
		return f.at(chartutil.ChartfileName, nil)
	}
	return found[0]
}

// match finds the files that each chart of a loaded tree was read from. It identifies
// charts by their raw files, which are the same in the copies that aliases create.
func (f *chartFiles) match(c *chart.Chart, found map[*chart.File]*chartFiles) {
	if len(c.Raw) > 0 {
		found[c.Raw[0]] = f
	}
	free := slices.Clone(f.inside)
	for _, sub := range c.Dependencies() {
		i := slices.IndexFunc(free, func(inside *chartFiles) bool { return inside.holds(sub) })
		if i < 0 {
			continue
		}
		free[i].match(sub, found)
		free = slices.Delete(free, i, i+1)
	}
}

// holds reports whether the chart was read from these files.
func (f *chartFiles) holds(c *chart.Chart) bool {
	for key, want := range map[string]string{"name": c.Name(), "version": c.Metadata.Version} {
		if have := yamledit.Lookup(f.definition(chartutil.ChartfileName), key); have == nil || have.Value != want {
			return false
		}
	}
	for _, t := range c.Templates {
		if !bytes.Equal(f.data(t.Name), t.Data) {
			return false
		}
	}
	return true
}
