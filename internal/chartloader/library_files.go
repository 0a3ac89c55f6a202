// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartloader

import (
	"cmp"
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

// hasLibraries reports whether ch or any of its subcharts has a copy of a library.
func hasLibraries(ch *chart.Chart) bool {
	return library.IsCopy(ch.Metadata) || slices.ContainsFunc(ch.Dependencies(), hasLibraries)
}

// treeFiles returns the files of a chart and of its subcharts, which become directories. folder is the
// folder of the chart: empty, or a path that ends with a slash.
func treeFiles(ch *chart.Chart, folder string) ([]*BufferedFile, error) {
	files := ch.Raw
	if library.IsCopy(ch.Metadata) {
		metadata, err := yaml.Marshal(ch.Metadata)
		if err != nil {
			return nil, err
		}
		files = append([]*chart.File{{Name: chartFile, Data: metadata}}, ch.Templates...)
	}
	var all []*BufferedFile
	for _, f := range files {
		if !strings.HasPrefix(f.Name, chartutil.ChartsDir+"/") {
			all = append(all, &BufferedFile{Name: folder + f.Name, Data: f.Data})
		}
	}
	used := map[string]int{}
	for _, sub := range ch.Dependencies() {
		name := sub.Name()
		if used[name]++; used[name] > 1 {
			name += "-" + strconv.Itoa(used[name])
		}
		below, err := treeFiles(sub, folder+chartutil.ChartsDir+"/"+name+"/")
		if err != nil {
			return nil, err
		}
		all = append(all, below...)
	}
	slices.SortFunc(all, func(a, b *BufferedFile) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// PackedFiles returns the files with which a chart of the format helm.sh/v3 is packed: those from which
// it was loaded, with copies of the libraries that it and its subcharts in directories ask for. The
// archives of subcharts stay as they are. Their libraries can be of another version than the one that
// was selected for the tree. Therefore ch also gets a copy of each library that they ask for: for Helm,
// the named templates with the shortest path take precedence.
func PackedFiles(ch *chart.Chart) ([]*chart.File, error) {
	s := newFileSet(bufferedFiles(ch.Raw))
	copies := s.libraryCopies()
	var files []*chart.File
	folders := map[string][]string{} // the folders of charts, by the content of Chart.yaml
	used := map[string]bool{}        // the folders of charts
	for _, f := range ch.Raw {
		if isBelow(f.Name, copies) {
			continue
		}
		files = append(files, f)
		if folder, isChart := strings.CutSuffix(f.Name, chartFile); isChart && isChartFile(f.Name) {
			folders[string(f.Data)], used[folder] = append(folders[string(f.Data)], folder), true
		}
	}
	for _, user := range chartsWithCopies(ch) {
		into, isDirectory := folders[string(rawFile(user, chartFile))]
		if !isDirectory {
			into = []string{""}
		}
		for _, folder := range into {
			added, err := copyFiles(user, folder+chartutil.ChartsDir+"/", used)
			if err != nil {
				return nil, err
			}
			files = append(files, added...)
		}
	}
	return files, nil
}

// copyFiles returns the files of the copies of libraries in a chart, for a folder charts/. used contains
// the folders of charts. Those of the copies are added to it. A library that has a copy in this folder
// already gets no other.
func copyFiles(user *chart.Chart, charts string, used map[string]bool) ([]*chart.File, error) {
	var files []*chart.File
	for _, sub := range user.Dependencies() {
		mark := charts + sub.Name() // without a slash, it is not the folder of a chart
		if !library.IsCopy(sub.Metadata) || used[mark] {
			continue
		}
		folder := mark + "/"
		for used[folder] { // another chart has a folder with the name of the library
			folder = strings.TrimSuffix(folder, "/") + "-library/"
		}
		used[mark], used[folder] = true, true
		added, err := treeFiles(sub, folder)
		if err != nil {
			return nil, err
		}
		for _, f := range added {
			files = append(files, &chart.File{Name: f.Name, Data: f.Data})
		}
	}
	return files, nil
}

// chartsWithCopies returns those of ch and its subcharts that have copies of libraries.
func chartsWithCopies(ch *chart.Chart) []*chart.Chart {
	var found []*chart.Chart
	if slices.ContainsFunc(ch.Dependencies(), func(sub *chart.Chart) bool { return library.IsCopy(sub.Metadata) }) {
		found = append(found, ch)
	}
	for _, sub := range ch.Dependencies() {
		found = append(found, chartsWithCopies(sub)...)
	}
	return found
}

func bufferedFiles(files []*chart.File) []*BufferedFile {
	buffered := make([]*BufferedFile, len(files))
	for i, f := range files {
		buffered[i] = &BufferedFile{Name: f.Name, Data: f.Data}
	}
	return buffered
}
