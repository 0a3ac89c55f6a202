// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartloader

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/library"
)

// WithLibraries returns the files of a chart, which CanonicalFiles has returned, with the copies of
// libraries that LoadFiles adds, so that Helm's loader loads what LoadFiles would. If there are
// libraries, all charts of the tree become directories. WithLibraries returns the files unchanged if
// there are none, or if Helm cannot load the chart.
func WithLibraries(canonical []*BufferedFile) ([]*BufferedFile, error) {
	if !slices.ContainsFunc(canonical, func(f *BufferedFile) bool { return declaresFormat(f) || isSubchartArchive(f) }) {
		return canonical, nil
	}
	ch, err := loadFiles(canonical)
	if err != nil {
		return canonical, nil //nolint:nilerr // Helm's loader reports it
	}
	if err := addLibraries(ch); err != nil {
		return nil, err
	}
	if !hasLibraries(ch) {
		return canonical, nil
	}
	return treeFiles(ch, "")
}

func isSubchartArchive(f *BufferedFile) bool {
	own, _ := splitSubchartPath(f.Name)
	return path.Ext(own) == ".tgz"
}

// hasLibraries reports whether addLibraries has added a copy of a library to ch or to any of its
// subcharts.
func hasLibraries(ch *chart.Chart) bool {
	return isAddedCopy(ch) || slices.ContainsFunc(ch.Dependencies(), hasLibraries)
}

// isAddedCopy reports whether addLibraries has added ch. Other charts with the annotation of a copy are
// ordinary subcharts, which were loaded from files.
func isAddedCopy(ch *chart.Chart) bool { return library.IsCopy(ch.Metadata) && len(ch.Raw) == 0 }

// treeFiles returns the files of a chart and of its subcharts, which become directories. folder is the
// folder of the chart: empty, or a path that ends with a slash.
func treeFiles(ch *chart.Chart, folder string) ([]*BufferedFile, error) {
	files := ch.Raw
	if isAddedCopy(ch) {
		var err error
		if files, err = copyFiles(ch); err != nil {
			return nil, err
		}
	}
	var all []*BufferedFile
	for _, f := range files {
		if !strings.HasPrefix(f.Name, chartutil.ChartsDir+"/") {
			all = append(all, &BufferedFile{Name: folder + f.Name, Data: f.Data})
		}
	}
	used := map[string]bool{}
	for _, sub := range ch.Dependencies() {
		name := sub.Name()
		for n := 2; used[name]; n++ {
			name = sub.Name() + "-" + strconv.Itoa(n)
		}
		used[name] = true
		below, err := treeFiles(sub, folder+chartutil.ChartsDir+"/"+name+"/")
		if err != nil {
			return nil, err
		}
		all = append(all, below...)
	}
	slices.SortFunc(all, func(a, b *BufferedFile) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// copyFiles returns the files of the copy of a library.
func copyFiles(c *chart.Chart) ([]*chart.File, error) {
	metadata, err := yaml.Marshal(c.Metadata)
	return slices.Concat([]*chart.File{{Name: chartFile, Data: metadata}}, c.Templates, c.Files), err
}

// FilesToPack returns the files of ch, which must be of the format helm.sh/v3, for a package. These are
// the files from which it was loaded, with the copies of libraries that LoadFiles has added to ch and to
// those subcharts that are directories.
//
// Subcharts in archives keep their copies. If a chart in an archive has another version of a library,
// the copy that all charts of the tree use is added to ch itself: Helm parses the templates of ch after
// those of its subcharts.
func FilesToPack(ch *chart.Chart) ([]*chart.File, error) {
	if !hasLibraries(ch) {
		return ch.Raw, nil
	}
	s := rawFiles(ch)
	old := s.libraryCopies()
	files := slices.DeleteFunc(slices.Clone(ch.Raw), func(f *chart.File) bool { return isBelow(f.Name, old) })
	p := &copyPacker{set: s, old: old, root: ch, packed: map[string]bool{}, archives: map[string][]*chart.Chart{}}
	if err := p.pack(ch, ""); err != nil {
		return nil, err
	}
	return append(files, p.added...), nil
}

// copyPacker collects the files of copies of libraries.
type copyPacker struct {
	set   *fileSet
	old   map[string]bool // the directories of copies that were packed earlier
	root  *chart.Chart
	added []*chart.File
	// packed contains the Chart.yaml of each directory whose subchart is packed already. Two
	// subcharts can have the same one.
	packed map[string]bool
	// archives contains the charts in the archives in charts/ of a chart, by the folder of this chart.
	archives map[string][]*chart.Chart
}

// pack adds the files of the copies in ch and in its subcharts. folder is the folder of ch.
func (p *copyPacker) pack(ch *chart.Chart, folder string) error {
	for _, sub := range ch.Dependencies() {
		var err error
		if !hasLibraries(sub) {
			continue
		} else if isAddedCopy(sub) {
			err = p.add(sub, folder)
		} else if dir, found := p.directoryOf(sub, folder); found {
			err = p.pack(sub, dir)
		} else {
			err = p.packArchive(sub, folder)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// add adds the files of a copy to the chart in a folder.
func (p *copyPacker) add(c *chart.Chart, folder string) error {
	files, err := copyFiles(c)
	if err != nil {
		return err
	}
	dir := folder + chartutil.ChartsDir + "/" + c.Name()
	for p.isUsed(dir) {
		dir += "-library"
	}
	for _, f := range files {
		p.added = append(p.added, &chart.File{Name: dir + "/" + f.Name, Data: f.Data})
	}
	return nil
}

// isUsed reports whether there are files in a directory, except those of an earlier copy.
func (p *copyPacker) isUsed(dir string) bool {
	return !p.old[dir] && slices.ContainsFunc(p.set.files, func(f *BufferedFile) bool { return strings.HasPrefix(f.Name, dir+"/") })
}

// directoryOf returns the folder of a subchart of the chart in a folder. found is false if the subchart
// is in an archive.
func (p *copyPacker) directoryOf(sub *chart.Chart, folder string) (dir string, found bool) {
	for _, f := range p.set.files {
		below, isBelow := strings.CutPrefix(f.Name, folder+chartutil.ChartsDir+"/")
		name, isChart := strings.CutSuffix(below, "/"+chartFile)
		if isBelow && isChart && !strings.Contains(name, "/") && !p.packed[f.Name] && bytes.Equal(f.Data, rawFile(sub, chartFile)) {
			p.packed[f.Name] = true
			return strings.TrimSuffix(f.Name, chartFile), true
		}
	}
	return "", false
}

// packArchive adds the copies in a subchart that differ from those in its archive, which is in charts/
// of the chart in a folder.
func (p *copyPacker) packArchive(sub *chart.Chart, folder string) error {
	archives, err := p.chartsInArchives(folder)
	if err != nil {
		return err
	}
	for _, packed := range archives {
		if bytes.Equal(rawFile(packed, chartFile), rawFile(sub, chartFile)) {
			return p.addDiffering(sub, packed)
		}
	}
	return nil
}

// chartsInArchives loads the charts in the archives in charts/ of the chart in a folder, without
// libraries. It loads each of them once.
func (p *copyPacker) chartsInArchives(folder string) ([]*chart.Chart, error) {
	if charts, known := p.archives[folder]; known {
		return charts, nil
	}
	var charts []*chart.Chart
	for _, f := range p.set.files {
		if path.Ext(f.Name) != ".tgz" || path.Dir(f.Name) != folder+chartutil.ChartsDir {
			continue
		}
		files, err := LoadArchiveFiles(bytes.NewReader(f.Data))
		if err != nil {
			return nil, err
		}
		ch, err := loadFiles(files)
		if err != nil {
			return nil, err
		}
		charts = append(charts, ch)
	}
	p.archives[folder] = charts
	return charts, nil
}

// addDiffering adds the copies in ch that differ from those in packed, the same chart in its archive,
// to the root chart. If this has a subchart of the same name, it returns an error, because stock Helm would
// use the library in the archive.
func (p *copyPacker) addDiffering(ch, packed *chart.Chart) error {
	for _, sub := range ch.Dependencies() {
		i := slices.IndexFunc(packed.Dependencies(), func(c *chart.Chart) bool { return c.Name() == sub.Name() })
		var err error
		switch {
		case !isAddedCopy(sub):
			if i >= 0 {
				err = p.addDiffering(sub, packed.Dependencies()[i])
			}
		case i >= 0 && library.Equal(packed.Dependencies()[i], sub):
		case p.hasCopy(sub):
		case isSubchartName(p.root, sub.Name()):
			err = fmt.Errorf("the archive of %s has another version of the library %s than %s, which the whole tree uses, and %s has a subchart with this name, "+
				"so other versions of Helm would use the wrong one: unpack this archive, or rename the subchart", ch.ChartFullPath(), sub.Name(), sub.Metadata.Version, p.root.Name())
		default:
			err = p.add(sub, "")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// hasCopy reports whether the root chart has a copy of a library, or gets it.
func (p *copyPacker) hasCopy(c *chart.Chart) bool {
	return p.isAdded(c) || slices.ContainsFunc(p.root.Dependencies(), func(sub *chart.Chart) bool { return isAddedCopy(sub) && sub.Name() == c.Name() })
}

// isAdded reports whether a copy has been added to the root chart.
func (p *copyPacker) isAdded(c *chart.Chart) bool {
	return slices.ContainsFunc(p.added, func(f *chart.File) bool {
		return f.Name == chartutil.ChartsDir+"/"+c.Name()+"/"+chartFile
	})
}
