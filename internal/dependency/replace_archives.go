// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ordered-helm/helm/internal/chartloader"
)

// replaceArchives moves the archives of a download to its target, and removes the other archives
// there. It keeps archives of dependencies that have no repository, because these are not
// downloaded.
func (m *Manager) replaceArchives(d *download) error {
	fetched, err := os.ReadDir(d.temporary)
	if err != nil {
		return err
	}
	present, err := os.ReadDir(d.target)
	if err != nil {
		return err
	}
	isNew := make(map[string]bool)
	for _, file := range fetched {
		isNew[file.Name()] = true
		m.move(filepath.Join(d.temporary, file.Name()), filepath.Join(d.target, file.Name()))
	}
	local := make(map[string]bool)
	for _, dep := range d.deps {
		local[dep.Name] = local[dep.Name] || dep.Repository == ""
	}
	if filepath.Base(d.target) == libraryDirectory {
		m.sayf("Deleting outdated libraries")
	} else {
		m.sayf("Deleting outdated charts")
	}
	for _, file := range present {
		if !file.IsDir() && !isNew[file.Name()] {
			m.remove(filepath.Join(d.target, file.Name()), local)
		}
	}
	return nil
}

// checkTarget returns an error if the archives of a download cannot be moved to its target.
func checkTarget(d *download) error {
	entries, err := os.ReadDir(d.temporary)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := filepath.Join(d.target, entry.Name())
		if info, err := os.Lstat(name); err == nil && info.IsDir() {
			return fmt.Errorf("cannot replace %s: it is a directory", name)
		}
	}
	probe, err := os.CreateTemp(d.target, ".helm-")
	if err != nil {
		return fmt.Errorf("cannot write to %s: %w", d.target, err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// move moves an archive. If the archive does not contain a valid chart, move only prints a
// warning.
func (m *Manager) move(oldPath, newPath string) {
	if _, err := chartloader.LoadWithoutLibraries(oldPath); err != nil {
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
