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

// replace moves the downloaded archives from the directory from to the directory to, and
// removes other archives in to. It keeps archives of those deps that have no repository,
// because they are not downloaded.
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

// move moves an archive. If it does not contain a valid chart, it only prints a warning.
func (m *Manager) move(from, to string) {
	if _, err := chartloader.LoadFile(from); err != nil {
		fmt.Fprintf(m.Out, "Could not verify %s for moving: %s (Skipping)", from, err)
		return
	}
	if err := rename(from, to); err != nil {
		fmt.Fprintf(m.Out, "Unable to move %s to charts dir %s (Skipping)", from, err)
	}
}

// remove removes an archive. It keeps one that does not contain a valid chart, and one
// whose chart has the name of a dependency in local.
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

// rename moves a file. If the target is on another file system, it copies the file.
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
