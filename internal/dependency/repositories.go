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
	// localScheme begins the repository of a dependency that is in a local directory.
	localScheme = "file://"
	// unknownPrefix begins the names of cached indexes of repositories that the user has
	// not added. Helm uses the same prefix.
	unknownPrefix = "helm-manager-"
)

// repositoryNames maps the URL of a repository to the name of its index in Helm's cache.
type repositoryNames map[string]string

// repositories returns the repositories that the user has added.
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

// resolveRepositories replaces the names of repositories in deps ("@name" or "alias:name")
// with their URLs. It returns the names of those repositories that the user has added.
func (m *Manager) resolveRepositories(deps []*chart.Dependency) (repositoryNames, error) {
	known, err := m.repositories()
	if err != nil {
		return nil, err
	}
	names := make(repositoryNames)
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
			if entry := find(known, dep.Repository); entry != nil {
				if alias(dep.Repository) != "" {
					dep.Repository = entry.URL
				}
				names[dep.Repository] = entry.Name
			} else if _, err := url.ParseRequestURI(dep.Repository); err != nil {
				missing = append(missing, dep.Repository)
			}
		}
	}
	if len(missing) > 0 {
		return nil, undefinedError(missing)
	}
	return names, nil
}

// alias returns the name if a repository has the form "@name" or "alias:name", or else an
// empty string.
func alias(repository string) string {
	for _, prefix := range []string{"@", "alias:"} {
		if name, ok := strings.CutPrefix(repository, prefix); ok {
			return name
		}
	}
	return ""
}

// find returns the entry of known with the URL or alias in repository, or nil.
func find(known []*repo.Entry, repository string) *repo.Entry {
	i := slices.IndexFunc(known, func(e *repo.Entry) bool {
		if name := alias(repository); name != "" {
			return e.Name == name
		}
		return sameURL(e.URL, repository)
	})
	if i < 0 {
		return nil
	}
	return known[i]
}

func undefinedError(missing []string) error {
	text := fmt.Sprintf("no repository definition for %s. Please add them via 'helm repo add'", strings.Join(missing, ", "))
	if slices.ContainsFunc(missing, func(r string) bool { return !strings.Contains(r, "//") && alias(r) == "" }) {
		text += `
Note that repositories must be URLs or aliases. For example, to refer to the "example"
repository, use "https://charts.example.com/" or "@example" instead of
"example". Don't forget to add the repo, too ('helm repo add').`
	}
	return errors.New(text)
}

// sameURL reports whether two URLs are equal except for a slash at the end.
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

// checkKnown returns an error if the user has not added a repository that deps need.
func (m *Manager) checkKnown(deps []*chart.Dependency) error {
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

// addUnknown downloads the indexes of the repositories in deps that the user has not added,
// and adds them to names.
func (m *Manager) addUnknown(ctx context.Context, names repositoryNames, deps []*chart.Dependency) error {
	var entries []*repo.Entry
	for _, dep := range deps {
		r := dep.Repository
		if r == "" || strings.HasPrefix(r, localScheme) || registry.IsOCI(r) || names[r] != "" {
			continue
		}
		sum := sha256.Sum256([]byte(r))
		names[r] = unknownPrefix + hex.EncodeToString(sum[:])
		entries = append(entries, &repo.Entry{Name: names[r], URL: r})
	}
	if m.SkipUpdate || len(entries) == 0 {
		return nil
	}
	m.sayf("Getting updates for unmanaged Helm repositories...")
	return m.download(ctx, entries)
}

// updateRepositories downloads the indexes of all repositories that the user has added.
func (m *Manager) updateRepositories(ctx context.Context) error {
	if m.SkipUpdate {
		return nil
	}
	known, err := m.repositories()
	if err != nil || len(known) == 0 {
		return err
	}
	m.sayf("Hang tight while we grab the latest from your chart repositories...")
	if err := m.download(ctx, known); err != nil {
		return err
	}
	m.sayf("Update Complete. ⎈Happy Helming!⎈")
	return nil
}

// download downloads the indexes of repositories in parallel, and prints the results in the
// order of entries. A failed download is not an error, because the index in the cache can
// be sufficient.
func (m *Manager) download(ctx context.Context, entries []*repo.Entry) error {
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
		if strings.HasPrefix(name, unknownPrefix) {
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

// localPath returns the directory that a repository beginning with localScheme refers to.
// Relative paths are relative to the directory of the chart.
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
