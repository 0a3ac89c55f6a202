// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/provenance"
	"sigs.k8s.io/yaml"
)

// digest returns the digest for a lock file. It is computed from required, the dependencies in
// Chart.yaml, and locked, those in the lock file. It is the same as in stock Helm, because
// chart.Dependency has only Helm's fields, and not depends-on.
func digest(required, locked []*chart.Dependency) (string, error) {
	return digestOf([2][]*chart.Dependency{required, locked})
}

// helm2Digest returns the digest that Helm 2 stores in lock files.
func helm2Digest(required []*chart.Dependency) (string, error) {
	return digestOf(map[string][]*chart.Dependency{"dependencies": required})
}

func digestOf(v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	sum, err := provenance.Digest(bytes.NewReader(data))
	return "sha256:" + sum, err
}

// writeLock writes a lock file that contains locked, the dependencies to lock, unless the
// lock file of ch already has their digest.
func (m *Manager) writeLock(ch *chart.Chart, locked []*chart.Dependency) error {
	sum, err := digest(ch.Metadata.Dependencies, locked)
	if err != nil {
		return err
	}
	if ch.Lock != nil && ch.Lock.Digest == sum {
		return nil
	}
	data, err := yaml.Marshal(&chart.Lock{Generated: time.Now(), Digest: sum, Dependencies: locked})
	if err != nil {
		return err
	}
	name := lockFileName(ch)
	if err := rejectSymlink(m.ChartPath, name); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(m.ChartPath, name), data, 0o644)
}

func lockFileName(ch *chart.Chart) string {
	if ch.Metadata.APIVersion == chart.APIVersionV1 {
		return "requirements.lock"
	}
	return "Chart.lock"
}

// rejectSymlink returns an error if the lock file with this name in dir is a symbolic
// link. A chart with such a link could make Helm overwrite any file.
func rejectSymlink(dir, name string) error {
	path := filepath.Join(dir, name)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("error getting info for %q: %w", path, err)
	case info.Mode()&fs.ModeSymlink == 0:
		return nil
	}
	target, err := os.Readlink(path)
	if err != nil {
		return fmt.Errorf("error reading symlink for %q: %w", path, err)
	}
	return fmt.Errorf("the %s file is a symlink to %q", name, target)
}
