// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/helmpath"
	"helm.sh/helm/v3/pkg/registry"
	"helm.sh/helm/v3/pkg/repo"

	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/library"
)

// constraint decides which versions of a dependency are allowed.
type constraint interface {
	Check(*semver.Version) bool
}

// resolve returns a copy of deps in which each version constraint is replaced with the
// newest version that satisfies it: the version to download. If deps are libraries, requests are
// those of all charts, which must be satisfied too.
func (m *Manager) resolve(deps []*chart.Dependency, names indexNameByURL, requests []library.Request) ([]*chart.Dependency, error) {
	dir := chartsDirectory
	if requests != nil {
		dir = libraryDirectory
	}
	locked := make([]*chart.Dependency, 0, len(deps))
	var missing []string
	for _, dep := range deps {
		allowed, conflict, err := constraintOf(dep, requests)
		if err != nil {
			return nil, err
		}
		version, err := m.version(dep, dir, allowed, names[dep.Repository])
		if err != nil {
			return nil, err
		}
		if version == "" && conflict != nil {
			return nil, conflict
		}
		if version == "" {
			missing = append(missing, fmt.Sprintf("%q (repository %q, version %q)", dep.Name, dep.Repository, dep.Version))
		}
		locked = append(locked, &chart.Dependency{Name: dep.Name, Repository: dep.Repository, Version: version})
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("can't get a valid version for %d subchart(s): %s. Make sure a matching chart version "+
			"exists in the repo, or change the version constraint in Chart.yaml", len(missing), strings.Join(missing, ", "))
	}
	return locked, nil
}

// constraintOf returns the constraint for dep. If other charts ask for the same library, conflict is
// the error if no version satisfies the constraint.
func constraintOf(dep *chart.Dependency, requests []library.Request) (allowed constraint, conflict error, err error) {
	declared, err := semver.NewConstraint(dep.Version)
	if err != nil {
		return nil, nil, fmt.Errorf("dependency %q has an invalid version/constraint format: %w", dep.Name, err)
	}
	requests = slices.DeleteFunc(slices.Clone(requests), func(r library.Request) bool { return r.Name != dep.Name })
	if len(requests) < 2 {
		return declared, nil, nil
	}
	all, err := library.NewConstraint(requests)
	return all, &library.ConflictError{Library: dep.Name, Requests: requests, Available: []string{"the versions in " + dep.Repository}}, err
}

// version returns the version of dep to download. It is empty if no version satisfies the
// constraint. dir is the directory with the dependencies that have no repository, and name is the
// name of the cached index of the chart repository.
func (m *Manager) version(dep *chart.Dependency, dir string, allowed constraint, name string) (string, error) {
	switch {
	case dep.Repository == "":
		_, err := m.localPath(filepath.Join(dir, dep.Name))
		return dep.Version, err
	case strings.HasPrefix(dep.Repository, localScheme):
		return m.localVersion(dep, allowed)
	case registry.IsOCI(dep.Repository):
		return m.registryVersion(dep, allowed)
	default:
		return m.repositoryVersion(dep, allowed, name)
	}
}

func (m *Manager) localVersion(dep *chart.Dependency, allowed constraint) (string, error) {
	dir, err := m.localPath(dep.Repository)
	if err != nil {
		return "", err
	}
	ch, err := chartloader.LoadDir(dir)
	if err != nil {
		return "", err
	}
	version, err := semver.NewVersion(ch.Metadata.Version)
	if err != nil {
		return "", fmt.Errorf("dependency %q has an invalid version %q: %w", dep.Name, ch.Metadata.Version, err)
	}
	if !allowed.Check(version) {
		return "", nil
	}
	return ch.Metadata.Version, nil
}

func (m *Manager) repositoryVersion(dep *chart.Dependency, allowed constraint, name string) (string, error) {
	index, err := repo.LoadIndexFile(filepath.Join(m.RepositoryCache, helmpath.CacheIndexFile(name)))
	if err != nil {
		return "", fmt.Errorf("no cached repository for %s found. (try 'helm repo update'): %w", name, err)
	}
	entries, ok := index.Entries[dep.Name]
	if !ok {
		return "", fmt.Errorf("%s chart not found in repo %s", dep.Name, dep.Repository)
	}
	var versions []string
	for _, e := range entries {
		if len(e.URLs) > 0 {
			versions = append(versions, e.Version)
		}
	}
	return newest(versions, allowed), nil
}

// registryVersion returns the newest version that satisfies the constraint among the tags in
// an OCI registry. If dep has an exact version, or if no tag satisfies the constraint, it
// returns dep.Version; if this version does not exist, the download fails. It returns an empty
// string if other charts ask for the same library, and no version satisfies all.
func (m *Manager) registryVersion(dep *chart.Dependency, allowed constraint) (string, error) {
	if version, err := semver.NewVersion(dep.Version); err == nil {
		if !allowed.Check(version) {
			return "", nil
		}
		return dep.Version, nil
	}
	tags, err := m.RegistryClient.Tags(strings.TrimPrefix(dep.Repository, registry.OCIScheme+"://") + "/" + dep.Name)
	if err != nil {
		return "", fmt.Errorf("could not retrieve list of tags for repository %s: %w", dep.Repository, err)
	}
	version := newest(tags, allowed)
	if _, several := allowed.(library.Constraint); version != "" || several {
		return version, nil
	}
	return dep.Version, nil
}

// newest returns the newest version that satisfies the constraint, or an empty string if there
// is none. The versions must be sorted from the newest to the oldest.
func newest(versions []string, allowed constraint) string {
	for _, text := range versions {
		if version, err := semver.NewVersion(text); err == nil && allowed.Check(version) {
			return version.Original()
		}
	}
	return ""
}
