// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ordered-helm/helm/internal/chartloader"
)

// CanonicalCopy creates a temporary copy of the chart archive at archivePath that clients of
// registries accept. In every Chart.yaml, strings replace annotations that are lists, and a flat
// Chart.yaml replaces one of the format helm.sh/v3. It returns the path of the copy, which is
// in a directory of its own that the caller must delete. If the archive needs no change, the
// path is empty. If it does, and is signed, CanonicalCopy returns an error.
func CanonicalCopy(archivePath string) (string, error) {
	data, info, err := readArchive(archivePath)
	if err != nil || data == nil {
		return "", err
	}
	canonical, err := chartloader.CanonicalArchive(data)
	if err != nil || bytes.Equal(canonical, data) {
		return "", err
	}
	if _, err := os.Stat(archivePath + ".prov"); err == nil {
		return "", fmt.Errorf("%s cannot be pushed unchanged, because its Chart.yaml is of the format helm.sh/v3, or has annotations that are lists, "+
			"which registries do not accept, and it cannot be changed, because it is signed: package and sign the chart again with \"helm package --sign\"", archivePath)
	}
	dir, err := os.MkdirTemp("", "helm-push-")
	if err != nil {
		return "", err
	}
	copied := filepath.Join(dir, filepath.Base(archivePath))
	if err = os.WriteFile(copied, canonical, 0o600); err == nil {
		// Helm's registry client uses this time as the creation time of the chart.
		err = os.Chtimes(copied, info.ModTime(), info.ModTime())
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return copied, nil
}

// readArchive reads the file at archivePath. If there is no such file, it returns neither
// data nor an error, because the caller passes the path on to Helm, which reports the
// error.
func readArchive(archivePath string) ([]byte, os.FileInfo, error) {
	info, err := os.Stat(archivePath)
	if err != nil || info.IsDir() {
		return nil, nil, nil //nolint:nilerr // see above
	}
	data, err := os.ReadFile(archivePath)
	return data, info, err
}
