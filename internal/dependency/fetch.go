// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/downloader"
	"helm.sh/helm/v3/pkg/helmpath"
	"helm.sh/helm/v3/pkg/repo"

	"github.com/ordered-helm/helm/internal/archive"
	"github.com/ordered-helm/helm/internal/chartloader"
)

const directoryMode = 0o755

// fetch downloads deps into the charts/ directory of the chart, and removes archives of charts
// that are no longer dependencies. It changes charts/ only after all downloads have
// succeeded. For each dependency in a local directory, it sets the version in deps to that of
// the chart in this directory.
func (m *Manager) fetch(ctx context.Context, deps []*chart.Dependency) (err error) {
	f := fetcher{Manager: m, charts: filepath.Join(m.ChartPath, "charts"), downloaded: make(map[string]bool)}
	if f.repositories, err = m.loadIndexes(); err != nil {
		return err
	}
	if err := makeDirectory(f.charts); err != nil {
		return err
	}
	// The temporary directory is on the same file system as charts/, so that archives can be
	// moved atomically.
	if f.downloadDir, err = os.MkdirTemp(m.ChartPath, "tmpcharts-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(f.downloadDir)) }()

	m.sayf("Saving %d charts", len(deps))
	for _, dep := range deps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f.fetch(dep); err != nil {
			if _, isLocal := errors.AsType[*noRepositoryError](err); !isLocal {
				fmt.Fprintln(m.Out, "Save error occurred: ", err)
			}
			return err
		}
	}
	return m.replaceArchives(deps, f.downloadDir, f.charts)
}

func makeDirectory(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return os.MkdirAll(dir, directoryMode)
	case err != nil:
		return fmt.Errorf("unable to retrieve file info for '%s': %w", dir, err)
	case !info.IsDir():
		return fmt.Errorf("%q is not a directory", dir)
	}
	return nil
}

// addedRepository describes a chart repository that the user has added. index is the cached
// index.
type addedRepository struct {
	*repo.Entry
	index *repo.IndexFile
}

func (m *Manager) loadIndexes() ([]addedRepository, error) {
	entries, err := m.repositories()
	if err != nil {
		return nil, fmt.Errorf("failed to load %s: %w", m.RepositoryConfig, err)
	}
	var loaded []addedRepository
	for _, e := range entries {
		index, err := repo.LoadIndexFile(filepath.Join(m.RepositoryCache, helmpath.CacheIndexFile(e.Name)))
		if err != nil {
			return nil, err
		}
		loaded = append(loaded, addedRepository{e, index})
	}
	return loaded, nil
}

// fetcher downloads dependencies into a temporary directory.
type fetcher struct {
	*Manager
	repositories []addedRepository
	charts       string          // the charts/ directory of the chart
	downloadDir  string          // the temporary directory
	downloaded   map[string]bool // the URLs that have been downloaded, except from registries
}

// noRepositoryError is an error about a dependency without a repository, whose chart must
// already be in charts/. Helm prints no "Save error occurred" line for these errors.
type noRepositoryError struct{ error }

func (e *noRepositoryError) Unwrap() error { return e.error }

func (f *fetcher) fetch(dep *chart.Dependency) error {
	switch {
	case dep.Repository == "":
		f.sayf("Dependency %s did not declare a repository. Assuming it exists in the charts directory", dep.Name)
		return f.checkPresent(dep)
	case strings.HasPrefix(dep.Repository, localScheme):
		return f.pack(dep)
	default:
		return f.download(dep)
	}
}

// checkPresent returns an error unless charts/ contains the chart of dep, unpacked, in a
// version that satisfies dep.
func (f *fetcher) checkPresent(dep *chart.Dependency) error {
	dir := filepath.Join(f.charts, dep.Name)
	ch, err := chartloader.LoadDir(dir)
	if err != nil {
		return &noRepositoryError{fmt.Errorf("unable to load chart '%s': %w", dir, err)}
	}
	constraint, err := semver.NewConstraint(dep.Version)
	if err != nil {
		return &noRepositoryError{fmt.Errorf("dependency %s has an invalid version/constraint format: %w", dep.Name, err)}
	}
	version, err := semver.NewVersion(ch.Metadata.Version)
	if err != nil {
		return &noRepositoryError{fmt.Errorf("invalid version %s for dependency %s: %w", dep.Version, dep.Name, err)}
	}
	if !constraint.Check(version) {
		return fmt.Errorf("dependency %s at version %s does not satisfy the constraint %s", dep.Name, ch.Metadata.Version, dep.Version)
	}
	return nil
}

// pack writes an archive of a dependency that is in a local directory. It sets dep.Version to
// the version of the chart in this directory.
func (f *fetcher) pack(dep *chart.Dependency) error {
	if f.Debug {
		f.sayf("Archiving %s from repo %s", dep.Name, dep.Repository)
	}
	dir, err := f.localPath(dep.Repository)
	if err != nil {
		return err
	}
	ch, err := chartloader.LoadDir(dir)
	if err != nil {
		return err
	}
	constraint, err := semver.NewConstraint(dep.Version)
	if err != nil {
		return fmt.Errorf("dependency %s has an invalid version/constraint format: %w", dep.Name, err)
	}
	version, err := semver.NewVersion(ch.Metadata.Version)
	if err != nil {
		return err
	}
	if !constraint.Check(version) {
		return fmt.Errorf("can't get a valid version for dependency %s", dep.Name)
	}
	dep.Version = ch.Metadata.Version
	_, err = archive.Save(ch, f.downloadDir)
	return err
}

// download downloads a dependency from an OCI registry or a chart repository.
func (f *fetcher) download(dep *chart.Dependency) error {
	from, err := f.locate(dep)
	if err != nil {
		return fmt.Errorf("could not find %s: %w", from.url, err)
	}
	if f.downloaded[from.url] {
		f.sayf("Already downloaded %s from repo %s", dep.Name, dep.Repository)
		return nil
	}
	f.sayf("Downloading %s from repo %s", dep.Name, dep.Repository)
	client := downloader.ChartDownloader{
		Out: f.Out, Verify: f.Verify, Keyring: f.Keyring,
		RepositoryConfig: f.RepositoryConfig, RepositoryCache: f.RepositoryCache,
		RegistryClient: f.RegistryClient, Getters: f.Getters, Options: from.options,
	}
	if _, _, err := client.DownloadTo(from.url, from.tag, f.downloadDir); err != nil {
		return fmt.Errorf("could not download %s: %w", from.url, err)
	}
	f.downloaded[from.url] = from.tag == ""
	return nil
}
