// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/library"
)

// requestsOfTree returns the libraries for which ch and its subcharts ask. The subcharts are those
// that ch will have: the archives in the directory downloaded, and the directories in the directory
// present, which is charts/.
func requestsOfTree(ch *chart.Chart, deps []*chart.Dependency, present, downloaded string) ([]library.Request, error) {
	subcharts := unpackedCharts(present)
	archives, err := filepath.Glob(filepath.Join(downloaded, "*.tgz"))
	if err != nil {
		return nil, err
	}
	for _, name := range archives {
		sub, err := chartloader.LoadWithoutLibraries(name)
		if err == nil { // otherwise, replaceArchives reports it
			subcharts = append(subcharts, sub)
		}
	}
	for _, sub := range ch.Dependencies() { // archives of dependencies without a repository stay
		isSub := func(other *chart.Chart) bool { return other.Name() == sub.Name() }
		isLocal := func(dep *chart.Dependency) bool { return dep.Name == sub.Name() && dep.Repository == "" }
		if slices.ContainsFunc(deps, isLocal) && !slices.ContainsFunc(subcharts, isSub) {
			subcharts = append(subcharts, sub)
		}
	}
	tree := *ch
	tree.SetDependencies(subcharts...)
	return chartloader.LibraryRequests(&tree), nil
}

// checkLibraries returns an error if a downloaded library cannot be used as one. It prints a warning
// about application charts.
func (m *Manager) checkLibraries(downloaded string) error {
	entries, err := os.ReadDir(downloaded)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) != ".tgz" {
			continue
		}
		c, err := chartloader.LoadWithoutLibraries(filepath.Join(downloaded, entry.Name()))
		if err != nil {
			return err
		}
		if err := chartloader.CheckLibrary(c); err != nil {
			return fmt.Errorf("%s/%w", c.Name(), err)
		}
		if c.Metadata.Type != library.TypeLibrary {
			m.sayf("WARNING: %s is not a library chart: only its named templates are used", c.Name())
		}
	}
	return nil
}
