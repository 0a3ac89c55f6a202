// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/downloader"
	"helm.sh/helm/v3/pkg/registry"
	"helm.sh/helm/v3/pkg/repo"

	"github.com/ordered-helm/helm/internal/chartrepo"
)

const (
	// localScheme is the beginning of the field repository of a dependency that is in a
	// local directory.
	localScheme = "file://"
	// unknownIndexPrefix is the beginning of the names of cached indexes of chart
	// repositories that the user has not added. Helm uses the same prefix.
	unknownIndexPrefix = "helm-manager-"
)

// indexNameByURL maps the URL of a chart repository to the name of its index in Helm's cache.
type indexNameByURL map[string]string

// repositories returns the chart repositories that the user has added.
func (m *Manager) repositories() ([]*repo.Entry, error) {
	file, err := chartrepo.LoadFile(m.RepositoryConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return file.Repositories, nil
}

// resolveRepositories replaces aliases of chart repositories in deps ("@name" or "alias:name")
// with the URLs of these repositories. It returns the index names of those chart repositories
// that the user has added.
func (m *Manager) resolveRepositories(deps []*chart.Dependency) (indexNameByURL, error) {
	known, err := m.repositories()
	if err != nil {
		return nil, err
	}
	names := make(indexNameByURL)
	var missing []string
	for _, dep := range deps {
		switch {
		case dep.Repository == "" || registry.IsOCI(dep.Repository):
		case strings.HasPrefix(dep.Repository, localScheme):
			if _, err := m.localPath(dep.Repository); err != nil {
				return nil, err
			}
			if m.Debug {
				m.sayf("Repository from local path: %s", dep.Repository)
			}
		default:
			if entry := findRepository(known, dep.Repository); entry != nil {
				if repositoryAlias(dep.Repository) != "" {
					dep.Repository = entry.URL
				}
				names[dep.Repository] = entry.Name
			} else if _, err := url.ParseRequestURI(dep.Repository); err != nil {
				missing = append(missing, dep.Repository)
			}
		}
	}
	if len(missing) > 0 {
		return nil, missingRepositoriesError(missing)
	}
	return names, nil
}

// repositoryAlias returns the name in a repository of the form "@name" or "alias:name". For
// any other repository, it returns an empty string.
func repositoryAlias(repository string) string {
	for _, prefix := range []string{"@", "alias:"} {
		if name, ok := strings.CutPrefix(repository, prefix); ok {
			return name
		}
	}
	return ""
}

// findRepository returns the entry in known to which repository, a URL or an alias,
// refers; nil if there is none.
func findRepository(known []*repo.Entry, repository string) *repo.Entry {
	i := slices.IndexFunc(known, func(e *repo.Entry) bool {
		if name := repositoryAlias(repository); name != "" {
			return e.Name == name
		}
		return sameURL(e.URL, repository)
	})
	if i < 0 {
		return nil
	}
	return known[i]
}

func missingRepositoriesError(missing []string) error {
	text := fmt.Sprintf("no repository definition for %s. Please add them via 'helm repo add'", strings.Join(missing, ", "))
	if slices.ContainsFunc(missing, func(r string) bool { return !strings.Contains(r, "//") && repositoryAlias(r) == "" }) {
		text += `
Note that repositories must be URLs or aliases. For example, to refer to the "example"
repository, use "https://charts.example.com/" or "@example" instead of
"example". Don't forget to add the repo, too ('helm repo add').`
	}
	return errors.New(text)
}

// sameURL reports whether two URLs are equal, apart from a trailing slash.
func sameURL(a, b string) bool {
	first, err := url.Parse(a)
	if err != nil {
		return filepath.Clean(a) == filepath.Clean(b)
	}
	second, err := url.Parse(b)
	if err != nil {
		return false
	}
	for _, u := range []*url.URL{first, second} {
		u.Path = path.Clean(cmp.Or(u.Path, "/"))
	}
	return first.String() == second.String()
}

// checkRepositoriesAdded returns an error unless the user has added all chart repositories
// that deps need.
func (m *Manager) checkRepositoriesAdded(deps []*chart.Dependency) error {
	known, err := m.repositories()
	if err != nil {
		return err
	}
	var missing []string
	for _, dep := range deps {
		r := dep.Repository
		if r == "" || strings.HasPrefix(r, localScheme) || registry.IsOCI(r) {
			continue
		}
		if !slices.ContainsFunc(known, func(e *repo.Entry) bool { return sameURL(e.URL, strings.TrimSuffix(r, "/")) }) {
			missing = append(missing, r)
		}
	}
	if len(missing) > 0 {
		return downloader.ErrRepoNotFound{Repos: missing}
	}
	return nil
}

// downloadUnknownIndexes downloads the indexes of those chart repositories in deps that
// the user has not added, and adds the names of these indexes to names.
func (m *Manager) downloadUnknownIndexes(ctx context.Context, names indexNameByURL, deps []*chart.Dependency) error {
	var entries []*repo.Entry
	for _, dep := range deps {
		r := dep.Repository
		if r == "" || strings.HasPrefix(r, localScheme) || registry.IsOCI(r) || names[r] != "" {
			continue
		}
		sum := sha256.Sum256([]byte(r))
		names[r] = unknownIndexPrefix + hex.EncodeToString(sum[:])
		entries = append(entries, &repo.Entry{Name: names[r], URL: r})
	}
	if m.SkipUpdate || len(entries) == 0 {
		return nil
	}
	m.sayf("Getting updates for unmanaged Helm repositories...")
	return m.downloadIndexes(ctx, entries)
}

// updateRepositories downloads the indexes of all chart repositories that the user has added.
func (m *Manager) updateRepositories(ctx context.Context) error {
	if m.SkipUpdate {
		return nil
	}
	known, err := m.repositories()
	if err != nil || len(known) == 0 {
		return err
	}
	m.sayf("Hang tight while we grab the latest from your chart repositories...")
	if err := m.downloadIndexes(ctx, known); err != nil {
		return err
	}
	m.sayf("Update Complete. ⎈Happy Helming!⎈")
	return nil
}

// downloadIndexes downloads the indexes of chart repositories in parallel, and prints the
// results in the order of entries. If a download fails, it only prints a message, because the
// cached index may be sufficient.
func (m *Manager) downloadIndexes(ctx context.Context, entries []*repo.Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	repositories := make([]*repo.ChartRepository, 0, len(entries))
	for _, entry := range entries {
		r, err := repo.NewChartRepository(entry, m.Getters)
		if err != nil {
			return err
		}
		r.CachePath = m.RepositoryCache
		repositories = append(repositories, r)
	}
	chartrepo.Fetch(repositories, func(r *repo.ChartRepository, err error) {
		name, where := r.Config.Name, fmt.Sprintf(" (%s)", r.Config.URL)
		if strings.HasPrefix(name, unknownIndexPrefix) {
			name, where = r.Config.URL, ""
		}
		if err != nil {
			m.sayf("...Unable to get an update from the %q chart repository%s:\n\t%s", name, where, err)
		} else {
			m.sayf("...Successfully got an update from the %q chart repository", name)
		}
	})
	return ctx.Err()
}

// localPath returns the directory to which a repository with localScheme refers. A relative
// path is relative to the directory of the chart.
func (m *Manager) localPath(repository string) (string, error) {
	dir := strings.TrimPrefix(repository, localScheme)
	if !strings.HasPrefix(dir, "/") {
		dir = filepath.Join(m.ChartPath, dir)
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("directory %s not found", dir)
	} else if err != nil {
		return "", err
	}
	return dir, nil
}
