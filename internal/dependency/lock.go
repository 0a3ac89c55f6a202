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

// digest returns the digest to store in a lock file. It is computed from required, the
// dependencies in Chart.yaml, and locked, those in the lock file. Only Helm's fields are
// included, so that stock Helm computes the same digest.
func digest(required, locked []*chart.Dependency) (string, error) {
	return digestOf([2][]*chart.Dependency{required, locked})
}

// digestOfHelm2 returns the digest as Helm 2 computes it, to check lock files of Helm 2.
func digestOfHelm2(required []*chart.Dependency) (string, error) {
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

// writeLock writes the lock file of ch with the dependencies locked, unless it is up to
// date.
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
	name := "Chart.lock"
	if ch.Metadata.APIVersion == chart.APIVersionV1 {
		name = "requirements.lock"
	}
	if err := refuseLink(m.ChartPath, name); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(m.ChartPath, name), data, 0o644)
}

// refuseLink returns an error if the lock file is a symbolic link. Otherwise a chart could
// make Helm write to any other file.
func refuseLink(dir, name string) error {
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
