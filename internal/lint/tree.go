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

// requirementsFile is where charts of apiVersion v1 have their dependencies.
const requirementsFile = "requirements.yaml"

// chartFiles is a chart as it stands in files.
type chartFiles struct {
	// prefix is what its files' names begin with, as a reader would look for
	// them: "" for the root, "charts/db/" for a chart inside.
	prefix string
	files  []*chartloader.BufferedFile // with their names in the chart
	inside []*chartFiles

	definitions map[string]*yaml.Node // parsed files, nil where they cannot be
}

// newChartFiles parts the files of a chart from those of the charts inside, packed
// ones too.
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

// addArchive adds a packed chart: its files are named as if it were unpacked. One
// that cannot be read is for Helm's rules to refuse.
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

// definition parses a file; it is nil if there is none or if it is no YAML.
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

// walk calls visit for the folder and those inside.
func (f *chartFiles) walk(visit func(*chartFiles)) {
	visit(f)
	for _, inside := range f.inside {
		inside.walk(visit)
	}
}

// at is a place in a file of the folder.
func (f *chartFiles) at(name string, n *yaml.Node) position {
	p := position{File: f.prefix + name}
	if n != nil {
		p.Line, p.Column = n.Line, n.Column
	}
	return p
}

// field is the place of a field of Chart.yaml, by the keys that lead there; that
// of the file alone if there is none.
func (f *chartFiles) field(keys ...string) position {
	return f.at(chartutil.ChartfileName, keyNode(f.definition(chartutil.ChartfileName), keys...))
}

// keyNode finds the key that is at the end of a path.
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

// dependencies lists the entries, in their order.
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

// dependsOn is the place of depends-on of the dependency that bears a name in the
// tree of charts. Where several do, it is that of the file alone.
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

// match finds which folder each chart of a loaded tree was read from, by the
// files that it has kept: those are the same in the copies that aliases make.
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

// holds reports whether the chart was read from the folder.
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
