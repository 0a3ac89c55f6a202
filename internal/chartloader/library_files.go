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
