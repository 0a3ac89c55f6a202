// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package dependency implements helm dependency build, update and list. It downloads the
// dependencies of a chart into its charts/ directory, as Helm's package downloader does. In
// contrast to package downloader, it supports the additional fields of Chart.yaml
// (docs/reference.md, "Chart.yaml"), and keeps them when it packs a chart.
package dependency

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/downloader"
	"helm.sh/helm/v3/pkg/getter"
	"helm.sh/helm/v3/pkg/registry"

	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/library"
)

// Manager builds or updates the dependencies of one chart. Its fields have the meaning of
// those of Helm's downloader.Manager.
type Manager struct {
	// Out receives progress messages. Nothing else must write to it at the same time.
	Out io.Writer
	// ChartPath is the directory of the chart.
	ChartPath string
	// Verify says whether downloaded charts must have a signature by a key in the file
	// Keyring.
	Verify  downloader.VerificationStrategy
	Keyring string
	// Debug enables additional progress messages.
	Debug bool
	// SkipUpdate disables the download of indexes of chart repositories, so that the cached
	// indexes are used.
	SkipUpdate       bool
	Getters          getter.Providers
	RegistryClient   *registry.Client
	RepositoryConfig string
	RepositoryCache  string
}

// Build downloads the dependencies in the versions of the lock file. Without a lock file,
// Build does the same as Update. It returns a downloader.ErrRepoNotFound if the user has not
// added all chart repositories that the dependencies need.
func (m *Manager) Build(ctx context.Context) error {
	ch, err := m.loadChart()
	if err != nil {
		return err
	}
	if ch.Lock == nil {
		return m.update(ctx, ch)
	}
	required := ch.Metadata.Dependencies
	helm2Sum, err := helm2Digest(required)
	if err != nil {
		return err
	}
	if _, err := m.resolveRepositories(required); err != nil {
		return err
	}
	if err := checkLock(ch, helm2Sum); err != nil {
		return err
	}
	if err := m.checkRepositoriesAdded(ch.Lock.Dependencies); err != nil {
		return err
	}
	if err := m.updateRepositories(ctx); err != nil {
		return err
	}
	charts, libraries := library.Split(ch.Metadata, ch.Lock.Dependencies)
	return m.fetch(ctx, &dependencies{charts: charts, libraries: libraries}, nil)
}

// checkLock returns an error if the lock file does not match the dependencies in
// Chart.yaml. helm2Sum is the result of helm2Digest. The lock file of a chart of
// apiVersion v1 can contain this digest instead.
func checkLock(ch *chart.Chart, helm2Sum string) error {
	sum, err := digest(ch.Metadata.Dependencies, ch.Lock.Dependencies)
	if err == nil && sum == ch.Lock.Digest {
		return nil
	}
	if ch.Metadata.APIVersion != chart.APIVersionV1 {
		return errors.New("the lock file (Chart.lock) is out of sync with the dependencies file (Chart.yaml). " +
			"Please update the dependencies")
	}
	log.Println("warning: a valid Helm v3 hash was not found. Checking against Helm v2 hash...")
	if helm2Sum != ch.Lock.Digest {
		return errors.New("the lock file (requirements.lock) is out of sync with the dependencies file (requirements.yaml). " +
			"Please update the dependencies")
	}
	return nil
}

// Update downloads each dependency in the newest version that satisfies Chart.yaml, and writes
// the lock file if it has changed.
func (m *Manager) Update(ctx context.Context) error {
	ch, err := m.loadChart()
	if err != nil {
		return err
	}
	return m.update(ctx, ch)
}

func (m *Manager) update(ctx context.Context, ch *chart.Chart) error {
	required := ch.Metadata.Dependencies
	if required == nil {
		return nil
	}
	repositories, err := m.resolveRepositories(required)
	if err != nil {
		return err
	}
	if err := m.downloadUnknownIndexes(ctx, repositories, required); err != nil {
		return err
	}
	if err := m.updateRepositories(ctx); err != nil {
		return err
	}
	charts, libraries := library.Split(ch.Metadata, required)
	locked := &dependencies{}
	if locked.charts, err = m.resolve(charts, repositories, nil); err != nil {
		return err
	}
	var selectLibraries func(dir string) error
	if len(libraries) > 0 {
		selectLibraries = func(dir string) (err error) {
			if err := rejectSymlink(m.ChartPath, lockFileName(ch)); err != nil {
				return err
			}
			requests, err := requestsOfTree(ch, charts, filepath.Join(m.ChartPath, chartsDirectory), dir)
			if err == nil {
				locked.libraries, err = m.resolve(libraries, repositories, requests)
			}
			return err
		}
	}
	if err := m.fetch(ctx, locked, selectLibraries); err != nil {
		return err
	}
	return m.writeLock(ch, append(locked.charts, locked.libraries...))
}

func (m *Manager) loadChart() (*chart.Chart, error) {
	info, err := os.Stat(m.ChartPath)
	if err != nil {
		return nil, fmt.Errorf("could not find %s: %w", m.ChartPath, err)
	}
	if !info.IsDir() {
		return nil, errors.New("only unpacked charts can be updated")
	}
	return chartloader.LoadWithoutLibraries(m.ChartPath)
}

// sayf prints a line to m.Out.
func (m *Manager) sayf(format string, args ...any) {
	fmt.Fprintf(m.Out, format+"\n", args...)
}
