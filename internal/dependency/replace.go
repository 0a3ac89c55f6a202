// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/ordered-helm/helm/internal/chartloader"
)

// replace moves the downloaded archives into the charts directory. It removes the other
// archives there, except those of dependencies without a repository.
func (m *Manager) replace(deps []*chart.Dependency, from, to string) error {
	fetched, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	present, err := os.ReadDir(to)
	if err != nil {
		return err
	}
	isNew := make(map[string]bool)
	for _, file := range fetched {
		isNew[file.Name()] = true
		m.move(filepath.Join(from, file.Name()), filepath.Join(to, file.Name()))
	}
	local := make(map[string]bool)
	for _, dep := range deps {
		local[dep.Name] = local[dep.Name] || dep.Repository == ""
	}
	m.sayf("Deleting outdated charts")
	for _, file := range present {
		if !file.IsDir() && !isNew[file.Name()] {
			m.remove(filepath.Join(to, file.Name()), local)
		}
	}
	return nil
}

// move moves an archive if it contains a valid chart.
func (m *Manager) move(from, to string) {
	if _, err := chartloader.LoadFile(from); err != nil {
		fmt.Fprintf(m.Out, "Could not verify %s for moving: %s (Skipping)", from, err)
		return
	}
	if err := rename(from, to); err != nil {
		fmt.Fprintf(m.Out, "Unable to move %s to charts dir %s (Skipping)", from, err)
	}
}

// remove removes an archive if it contains a valid chart, unless the chart is a dependency
// without a repository.
func (m *Manager) remove(name string, local map[string]bool) {
	ch, err := chartloader.LoadFile(name)
	if err != nil {
		m.sayf("Could not verify %s for deletion: %s (Skipping)", name, err)
		return
	}
	if local[ch.Name()] {
		return
	}
	if err := os.Remove(name); err != nil {
		fmt.Fprintf(m.Out, "Could not delete %s: %s (Skipping)", name, err)
	}
}

// rename moves a file. If the charts directory is on another file system, it copies the
// file.
func rename(from, to string) error {
	err := os.Rename(from, to)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}
