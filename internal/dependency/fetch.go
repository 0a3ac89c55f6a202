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

// The directories of a chart with its dependencies.
const (
	chartsDirectory  = "charts"
	libraryDirectory = "library"
)

// dependencies separates the dependencies of a chart by the directory that contains them.
type dependencies struct{ charts, libraries []*chart.Dependency }

// fetch downloads the dependencies into the charts/ and library/ directories of the chart, and
// removes archives of charts that are no longer dependencies. It changes these directories only
// after all downloads have succeeded. For each dependency in a local directory, it sets the version
// to that of the chart in this directory.
//
// If selectLibraries is not nil, fetch calls it after it has downloaded the charts into the
// directory dir, and before it downloads the libraries. The function sets their versions.
func (m *Manager) fetch(ctx context.Context, deps *dependencies, selectLibraries func(dir string) error) (err error) {
	f := fetcher{Manager: m, downloaded: make(map[string]bool)}
	if f.repositories, err = m.loadIndexes(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.removeDownloads()) }()
	charts, err := f.downloadAll(ctx, chartsDirectory, deps.charts)
	if err != nil {
		return err
	}
	if selectLibraries != nil {
		if err := selectLibraries(charts.temporary); err != nil {
			return err
		}
	}
	if len(deps.libraries) > 0 {
		libraries, err := f.downloadAll(ctx, libraryDirectory, deps.libraries)
		if err != nil {
			return err
		}
		err = errors.Join(m.checkLibraries(libraries.temporary), checkTarget(charts), checkTarget(libraries), ctx.Err())
		if err != nil {
			return err
		}
	}
	for _, d := range f.downloads {
		if err := m.replaceArchives(d); err != nil {
			return err
		}
	}
	return nil
}

// download is a set of dependencies whose archives are in a temporary directory, and have to be moved
// to the target directory.
type download struct {
	deps              []*chart.Dependency
	temporary, target string
}

// downloadAll downloads dependencies whose archives belong in a directory of the chart.
func (f *fetcher) downloadAll(ctx context.Context, dir string, deps []*chart.Dependency) (*download, error) {
	d := &download{deps: deps, target: filepath.Join(f.ChartPath, dir)}
	if err := makeDirectory(d.target); err != nil {
		return nil, err
	}
	// The temporary directory is on the same file system as the target, so that archives can be
	// moved atomically.
	var err error
	if d.temporary, err = os.MkdirTemp(f.ChartPath, "tmp"+dir+"-"); err != nil {
		return nil, err
	}
	f.downloads = append(f.downloads, d)
	if dir == libraryDirectory {
		f.sayf("Saving %d libraries", len(deps))
	} else {
		f.sayf("Saving %d charts", len(deps))
	}
	for _, dep := range deps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := f.fetch(d, dep); err != nil {
			if _, isLocal := errors.AsType[*noRepositoryError](err); !isLocal {
				fmt.Fprintln(f.Out, "Save error occurred: ", err)
			}
			return nil, err
		}
	}
	return d, nil
}

// removeDownloads removes the temporary directories.
func (f *fetcher) removeDownloads() error {
	var errs []error
	for _, d := range f.downloads {
		errs = append(errs, os.RemoveAll(d.temporary))
	}
	return errors.Join(errs...)
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

// fetcher downloads dependencies into temporary directories.
type fetcher struct {
	*Manager
	repositories []addedRepository
	downloads    []*download
	downloaded   map[string]bool // the URLs that have been downloaded, except from registries
}

// noRepositoryError is an error about a dependency without a repository, whose chart must
// already be in charts/. Helm prints no "Save error occurred" line for these errors.
type noRepositoryError struct{ error }

func (e *noRepositoryError) Unwrap() error { return e.error }

func (f *fetcher) fetch(d *download, dep *chart.Dependency) error {
	switch {
	case dep.Repository == "":
		f.sayf("Dependency %s did not declare a repository. Assuming it exists in the %s directory", dep.Name, filepath.Base(d.target))
		return checkPresent(d, dep)
	case strings.HasPrefix(dep.Repository, localScheme):
		return f.pack(d, dep)
	default:
		return f.download(d, dep)
	}
}

// checkPresent returns an error unless charts/ contains the chart of dep, unpacked, in a
// version that satisfies dep.
func checkPresent(d *download, dep *chart.Dependency) error {
	dir := filepath.Join(d.target, dep.Name)
	ch, err := chartloader.LoadWithoutLibraries(dir) // its libraries can be in the chart around it
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
func (f *fetcher) pack(d *download, dep *chart.Dependency) error {
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
	_, err = archive.Save(ch, d.temporary)
	return err
}

// download downloads a dependency from an OCI registry or a chart repository.
func (f *fetcher) download(d *download, dep *chart.Dependency) error {
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
	if _, _, err := client.DownloadTo(from.url, from.tag, d.temporary); err != nil {
		return fmt.Errorf("could not download %s: %w", from.url, err)
	}
	f.downloaded[from.url] = from.tag == ""
	return nil
}
