// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartloader

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
	"helm.sh/helm/v3/pkg/chart"
	helmloader "helm.sh/helm/v3/pkg/chart/loader"

	"github.com/ordered-helm/helm/internal/chartformat"
	"github.com/ordered-helm/helm/internal/library"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// LoadWithoutLibraries is like Load, but adds no libraries, and accepts charts whose libraries are
// missing or cannot be used together.
func LoadWithoutLibraries(name string) (*chart.Chart, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return loadArchiveFile(name, loadSorted)
	}
	files, err := DirFiles(name)
	if err != nil {
		return nil, err
	}
	return loadSorted(files)
}

// loadSorted is like loadFiles, but also sorts the subcharts.
func loadSorted(files []*BufferedFile) (*chart.Chart, error) {
	ch, err := loadFiles(files)
	sortDependencies(ch)
	return ch, err
}

// LibraryRequests returns the libraries for which ch and its subcharts ask.
func LibraryRequests(ch *chart.Chart) []library.Request {
	requests := ownRequests(ch)
	for _, sub := range ch.Dependencies() {
		requests = append(requests, LibraryRequests(sub)...)
	}
	return requests
}

// ownRequests returns the libraries that ch declares.
func ownRequests(ch *chart.Chart) []library.Request {
	original, isV3 := OriginalFile(ch, chartformat.OriginalChartFile)
	if !isV3 {
		return nil
	}
	_, declared := library.Split(ch.Metadata, ch.Metadata.Dependencies)
	requests := make([]library.Request, 0, len(declared))
	for _, d := range declared {
		requests = append(requests, library.Request{Name: d.Name, Range: d.Version, By: ch.ChartFullPath(), Position: func() string {
			requirements, _ := OriginalFile(ch, chartformat.OriginalRequirementsFile)
			file, line := chartformat.LibraryPosition(chartformat.Source{ChartYAML: original, Requirements: requirements}, d.Name)
			return fmt.Sprintf("%s:%d", file, line)
		}})
	}
	return requests
}

// addLibraries adds to ch and to each of its subcharts copies of the libraries for which they ask.
// All charts get the same version of a library. A library can be in library/ of any chart.
//
// Packed charts contain such copies already. These must be copies of libraries in library/, and are
// replaced.
func addLibraries(ch *chart.Chart) error {
	t := &libraryTree{size: &sizeCounter{}, loaded: map[[sha256.Size]byte]*chart.Chart{}}
	if err := t.collect(ch); err != nil {
		return err
	}
	if err := t.checkCopies(); err != nil || len(t.users) == 0 {
		return err
	}
	var requests []library.Request
	for _, u := range t.users {
		requests = append(requests, u.requests...)
	}
	selected, err := library.Select(requests, t.candidates)
	if err != nil {
		return err
	}
	for _, u := range t.users {
		if err := t.addCopies(u, selected); err != nil {
			return err
		}
	}
	sortDependencies(ch)
	return nil
}

// libraryTree contains everything about libraries in a tree of charts.
type libraryTree struct {
	users      []libraryUser
	candidates []library.Candidate
	copies     []*chart.Chart // the copies that were in packed charts

	size   *sizeCounter
	loaded map[[sha256.Size]byte]*chart.Chart // libraries by their content
}

// libraryUser is a chart with the libraries for which it asks.
type libraryUser struct {
	chart    *chart.Chart
	requests []library.Request
}

// collect adds ch and its subcharts to the tree. It removes copies of libraries from them.
func (t *libraryTree) collect(ch *chart.Chart) error {
	t.size.charts++
	if _, isV3 := OriginalFile(ch, chartformat.OriginalChartFile); isV3 {
		if err := t.collectOwn(ch); err != nil {
			return err
		}
	}
	for _, sub := range ch.Dependencies() {
		if err := t.collect(sub); err != nil {
			return err
		}
	}
	return nil
}

// collectOwn adds one chart of the format helm.sh/v3 to the tree. It asks for what it declares, and
// uses what is in its library/.
func (t *libraryTree) collectOwn(ch *chart.Chart) error {
	u := libraryUser{chart: ch, requests: ownRequests(ch)}
	contained, err := t.load(ch)
	if err != nil {
		return err
	}
	for _, c := range contained {
		if slices.ContainsFunc(u.requests, func(r library.Request) bool { return r.Name == c.Library.Name() }) {
			continue
		}
		if isSubchartName(ch, c.Library.Name()) {
			return fmt.Errorf("%s: a subchart of %s has the same name: remove one of them", c.Path, ch.ChartFullPath())
		}
		u.requests = append(u.requests, library.Request{Name: c.Library.Name(), By: ch.ChartFullPath()})
	}
	t.candidates = append(t.candidates, contained...)
	isCopy := func(sub *chart.Chart) bool { return library.IsCopy(sub.Metadata) }
	if subcharts := ch.Dependencies(); slices.ContainsFunc(subcharts, isCopy) {
		for _, sub := range subcharts {
			if isCopy(sub) {
				t.copies = append(t.copies, sub)
			}
		}
		ch.SetDependencies(slices.DeleteFunc(slices.Clone(subcharts), isCopy)...)
	}
	if len(u.requests) > 0 {
		t.users = append(t.users, u)
	}
	return nil
}

// isSubchartName reports whether ch has a subchart with a name or an alias, except copies of libraries.
func isSubchartName(ch *chart.Chart, name string) bool {
	return slices.ContainsFunc(ch.Dependencies(), func(sub *chart.Chart) bool { return sub.Name() == name && !library.IsCopy(sub.Metadata) }) ||
		slices.ContainsFunc(ch.Metadata.Dependencies, func(d *chart.Dependency) bool { return d.Name == name || d.Alias == name })
}

// checkCopies returns an error if a packed chart contains a copy that is not the copy of any
// library in the tree: stock Helm would render something else than Ordered Helm.
func (t *libraryTree) checkCopies() error {
	for _, found := range t.copies {
		isOriginal := func(c library.Candidate) bool {
			return c.Library.Name() == found.Name() && library.Equal(found, library.NewCopy(c.Library))
		}
		if !slices.ContainsFunc(t.candidates, isOriginal) {
			return fmt.Errorf("%s does not agree with %s%s, of which it is a copy: package the chart again",
				found.ChartFullPath(), library.Directory, found.Name())
		}
	}
	return nil
}

// addCopies adds copies of the selected libraries to a chart. They count as charts of the tree.
func (t *libraryTree) addCopies(u libraryUser, selected map[string]library.Candidate) error {
	for _, r := range u.requests {
		c, found := selected[r.Name]
		switch {
		case found:
			if err := t.size.addChart(0); err != nil {
				return err
			}
			u.chart.AddDependency(library.NewCopy(c.Library))
		case u.chart.Parent() != nil: // of the outermost chart, the actions report it
			return fmt.Errorf("%s (%s) asks for the library %s, which is missing in %s: run \"helm dependency build\" for this chart",
				r.By, r.Position(), r.Name, library.Directory)
		}
	}
	return nil
}

// load loads the libraries in library/ of ch, sorted by path.
func (t *libraryTree) load(ch *chart.Chart) ([]library.Candidate, error) {
	var candidates []library.Candidate
	for _, p := range containedCharts(ch.Raw, library.Directory) {
		at := path.Join(ch.ChartFullPath(), p.path)
		c, err := t.loadContained(p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		if err := CheckLibrary(c); err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		candidates = append(candidates, library.Candidate{Path: at, Library: c})
	}
	return candidates, nil
}

// containedChart is a chart within the files of another chart: a directory or an archive.
type containedChart struct {
	path      string
	isArchive bool
	files     []*BufferedFile // one file if it is an archive
}

// containedCharts returns the directories and archives below a directory, sorted by path. As in
// charts/, it ignores names that begin with an underscore or a dot, and other files.
func containedCharts(files []*chart.File, dir string) []*containedChart {
	byPath := map[string]*containedChart{}
	var packages []*containedChart
	for _, f := range files {
		rest, isBelow := strings.CutPrefix(f.Name, dir)
		if !isBelow || rest == "" || rest[0] == '_' || rest[0] == '.' {
			continue
		}
		top, name, isDirectory := strings.Cut(rest, "/")
		if !isDirectory && path.Ext(top) != ".tgz" {
			continue
		}
		p := byPath[top]
		if p == nil {
			p = &containedChart{path: dir + top, isArchive: !isDirectory}
			byPath[top], packages = p, append(packages, p)
		}
		p.files = append(p.files, &BufferedFile{Name: cmp.Or(name, top), Data: f.Data})
	}
	slices.SortFunc(packages, func(a, b *containedChart) int { return strings.Compare(a.path, b.path) })
	return packages
}

// loadContained loads a library. Packages with the same content are loaded once.
func (t *libraryTree) loadContained(p *containedChart) (*chart.Chart, error) {
	key := contentKey(p)
	if c := t.loaded[key]; c != nil {
		return c, nil
	}
	files := p.files
	if p.isArchive {
		var err error
		if files, err = LoadArchiveFiles(bytes.NewReader(p.files[0].Data)); err != nil {
			return nil, err
		}
	}
	if err := t.size.addUnpacked(files); err != nil {
		return nil, err
	}
	canonical, err := t.size.canonicalFiles(files, 1)
	if err != nil {
		return nil, err
	}
	c, err := helmloader.LoadFiles(canonical)
	if err == nil {
		t.loaded[key] = c
	}
	return c, err
}

func contentKey(p *containedChart) (key [sha256.Size]byte) {
	h := sha256.New()
	fmt.Fprintf(h, "%t ", p.isArchive)
	for _, f := range p.files {
		fmt.Fprintf(h, "%d %d ", len(f.Name), len(f.Data))
		h.Write([]byte(f.Name))
		h.Write(f.Data)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// CheckLibrary returns an error if a library depends on other libraries.
func CheckLibrary(c *chart.Chart) error {
	if requests := ownRequests(c); len(requests) > 0 {
		return nestedLibraryError(c, requests[0].Name, requests[0].Position())
	}
	for _, sub := range c.Dependencies() {
		if sub.Metadata.Type == library.TypeLibrary {
			return nestedLibraryError(c, sub.Name(), dependencyPosition(c, sub.Name()))
		}
	}
	return nil
}

// nestedLibraryError reports that the library c depends on another library, at a position.
func nestedLibraryError(c *chart.Chart, name, position string) error {
	return fmt.Errorf("%s: a library cannot depend on a library: name %s in the libraries of the chart that uses %s instead", position, name, c.Name())
}

// dependencyPosition returns where a chart declares a dependency, for example "Chart.yaml:12", or
// the path of the dependency if it is not declared.
func dependencyPosition(c *chart.Chart, name string) string {
	for _, place := range []struct {
		raw, file string
		keys      []string
	}{
		{chartformat.OriginalChartFile, chartFile, []string{"data", "dependencies"}},
		{chartformat.OriginalRequirementsFile, chartformat.RequirementsFile, []string{"requirements"}},
		{chartformat.OriginalRequirementsFile, chartformat.RequirementsFile, []string{"dependencies"}},
		{chartFile, chartFile, []string{"dependencies"}},
		{chartformat.RequirementsFile, chartformat.RequirementsFile, []string{"dependencies"}},
	} {
		if _, isV3 := OriginalFile(c, chartformat.OriginalChartFile); isV3 && place.raw == chartFile {
			continue // it was generated
		}
		root, err := yamledit.Parse(string(rawFile(c, place.raw)))
		if err != nil {
			continue
		}
		list := yamledit.Lookup(root, place.keys...)
		if list == nil || list.Kind != yaml.SequenceNode {
			continue
		}
		for _, entry := range list.Content {
			if n := yamledit.Lookup(entry, "name"); n != nil && n.Value == name {
				return fmt.Sprintf("%s:%d", place.file, n.Line)
			}
		}
	}
	return "charts/" + name
}
