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

// replaceArchives moves the archives in downloadDir to chartsDir, and removes the other
// archives in chartsDir. It keeps archives of those deps that have no repository, because
// these are not downloaded.
func (m *Manager) replaceArchives(deps []*chart.Dependency, downloadDir, chartsDir string) error {
	fetched, err := os.ReadDir(downloadDir)
	if err != nil {
		return err
	}
	present, err := os.ReadDir(chartsDir)
	if err != nil {
		return err
	}
	isNew := make(map[string]bool)
	for _, file := range fetched {
		isNew[file.Name()] = true
		m.move(filepath.Join(downloadDir, file.Name()), filepath.Join(chartsDir, file.Name()))
	}
	local := make(map[string]bool)
	for _, dep := range deps {
		local[dep.Name] = local[dep.Name] || dep.Repository == ""
	}
	m.sayf("Deleting outdated charts")
	for _, file := range present {
		if !file.IsDir() && !isNew[file.Name()] {
			m.remove(filepath.Join(chartsDir, file.Name()), local)
		}
	}
	return nil
}

// move moves an archive. If the archive does not contain a valid chart, move only prints a
// warning.
func (m *Manager) move(oldPath, newPath string) {
	if _, err := chartloader.LoadFile(oldPath); err != nil {
		fmt.Fprintf(m.Out, "Could not verify %s for moving: %s (Skipping)", oldPath, err)
		return
	}
	if err := rename(oldPath, newPath); err != nil {
		fmt.Fprintf(m.Out, "Unable to move %s to charts dir %s (Skipping)", oldPath, err)
	}
}

// remove removes an archive, unless it contains no valid chart, or a chart whose name is in
// local.
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

// rename moves a file. If the new path is on another file system, rename copies the file.
func rename(oldPath, newPath string) error {
	err := os.Rename(oldPath, newPath)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	data, err := os.ReadFile(oldPath)
	if err != nil {
		return err
	}
	return os.WriteFile(newPath, data, 0o644)
}
