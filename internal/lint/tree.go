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

// requirementsFile contains the dependencies of a chart of apiVersion v1.
const requirementsFile = "requirements.yaml"

// chartFiles has the source files of one chart, to determine positions in them. inside has
// the files of its subcharts.
type chartFiles struct {
	// prefix is the path of the chart within the root chart, for example "charts/db/". It
	// is empty for the root chart.
	prefix string
	files  []*chartloader.BufferedFile // the paths are relative to this chart
	inside []*chartFiles

	definitions map[string]*yaml.Node // caches parsed files; nil if a file cannot be parsed
}

// newChartFiles assigns files to the chart itself or to its subcharts, which can be packed.
// prefix is the path of the chart within the root chart.
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

// addArchive adds a packed subchart. Its files get the paths that they would have if it
// were unpacked. An archive that cannot be read is ignored, because Helm's rules report it.
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

// definition returns the root node of a YAML file of the chart, or nil if the file does not
// exist or is invalid.
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

// at returns the position of the node n in the named file. If n is nil, it has no line.
func (f *chartFiles) at(name string, n *yaml.Node) position {
	p := position{File: f.prefix + name}
	if n != nil {
		p.Line, p.Column = n.Line, n.Column
	}
	return p
}

// field returns the position of a field in Chart.yaml. keys is the path of the field. If
// the field does not exist, the position has no line.
func (f *chartFiles) field(keys ...string) position {
	return f.at(chartutil.ChartfileName, keyNode(f.definition(chartutil.ChartfileName), keys...))
}

// keyNode returns the node of the last key on a path of keys, or nil if it does not exist.
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

// entry is one entry under "dependencies", in Chart.yaml or requirements.yaml.
type entry struct {
	file string
	node *yaml.Node
}

// dependencies returns the entries under "dependencies", in their order.
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

// dependsOn returns the position of depends-on in the entry under "dependencies" with this
// alias or, without an alias, name. If there is not exactly one, the position has no line.
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

// match finds the source files of c and its subcharts and adds them to found. The key is
// the first raw file of a loaded chart, because copies of a chart for several aliases share
// it.
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

// holds reports whether c was loaded from these files.
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
