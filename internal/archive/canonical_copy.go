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

// CanonicalCopy creates, for a registry, a temporary copy of the archive of a chart in which
// annotations that are lists are replaced with strings. It returns the path of the copy,
// which is in a directory of its own. If there are no such annotations, it returns an empty
// path.
func CanonicalCopy(name string) (string, error) {
	data, info, err := readArchive(name)
	if err != nil || data == nil {
		return "", err
	}
	canonical, err := chartloader.CanonicalArchive(data)
	if err != nil || bytes.Equal(canonical, data) {
		return "", err
	}
	if _, err := os.Stat(name + ".prov"); err == nil {
		return "", fmt.Errorf("%s has annotations in its Chart.yaml that are lists, which registries do not accept, "+
			"and its signature covers them: package and sign the chart again with \"helm package --sign\"", name)
	}
	dir, err := os.MkdirTemp("", "helm-push-")
	if err != nil {
		return "", err
	}
	copied := filepath.Join(dir, filepath.Base(name))
	if err = os.WriteFile(copied, canonical, 0o600); err == nil {
		// The upload contains the modification time of the archive as its creation time.
		err = os.Chtimes(copied, info.ModTime(), info.ModTime())
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return copied, nil
}

// readArchive reads the file name. If there is no such file, it returns neither data nor an
// error, so that Helm reports the error.
func readArchive(name string) ([]byte, os.FileInfo, error) {
	info, err := os.Stat(name)
	if err != nil || info.IsDir() {
		return nil, nil, nil //nolint:nilerr // Helm reports the error
	}
	data, err := os.ReadFile(name)
	return data, info, err
}
