// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/ordered-helm/helm/internal/archive"
	"github.com/ordered-helm/helm/internal/lint/orderfiles"
)

// CheckChart checks a chart like Check. path can be a directory or a packed chart (.tgz).
func CheckChart(ctx context.Context, path string, o RenderOptions) (report *Report, err error) {
	if o.OrderFile != nil {
		if _, err := o.OrderFile.Parse(""); err != nil {
			return nil, err
		}
		o.OrderFile = orderfiles.RelativeTo(path, o.OrderFile)
	}
	if strings.HasSuffix(path, ".tgz") || strings.HasSuffix(path, ".tar.gz") {
		dir, failed := os.MkdirTemp("", "helm-lint")
		if failed != nil {
			return nil, fmt.Errorf("unable to create temp dir to extract tarball: %w", failed)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		if path, err = unpack(dir, path); err != nil {
			return nil, err
		}
	}
	if _, err := os.Stat(filepath.Join(path, chartutil.ChartfileName)); err != nil {
		return nil, fmt.Errorf("unable to check Chart.yaml file in chart: %w", err)
	}
	return Check(ctx, path, o)
}

// unpack unpacks the archive at path into dir, and returns the directory of the chart, which
// is inside dir.
func unpack(dir, path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("unable to open tarball: %w", err)
	}
	err = archive.Expand(dir, file)
	if err = errors.Join(err, file.Close()); err != nil {
		return "", fmt.Errorf("unable to extract tarball: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("unable to read temporary output directory %s: %w", dir, err)
	}
	return filepath.Join(dir, entries[0].Name()), nil
}
