// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/lint/support"

	"github.com/ordered-helm/helm/internal/archive"
	"github.com/ordered-helm/helm/internal/lint"
)

// LintResult is Helm's LintResult.
type LintResult = helmaction.LintResult

// Lint checks charts. It has the fields of Helm's Lint and means the same by
// them (docs/reference.md, "Packages").
type Lint struct {
	Strict               bool
	Namespace            string
	WithSubcharts        bool
	Quiet                bool
	SkipSchemaValidation bool
	KubeVersion          *chartutil.KubeVersion
}

// NewLint returns a Lint with Helm's defaults.
func NewLint() *Lint { return new(Lint) }

// HasWarningsOrErrors is Helm's HasWarningsOrErrors.
func HasWarningsOrErrors(result *LintResult) bool { return helmaction.HasWarningsOrErrors(result) }

// Run checks the charts at the paths, folders or archives, by Helm's rules.
// Charts of apiVersion v3, and those with annotations that are lists, are
// checked by the same rules.
func (l *Lint) Run(paths []string, vals map[string]any) *LintResult {
	lowest := support.ErrorSev
	if l.Strict {
		lowest = support.WarningSev
	}
	result := new(LintResult)
	for _, path := range paths {
		messages, err := l.check(path, vals)
		if err != nil {
			result.Errors = append(result.Errors, err)
			continue
		}
		result.TotalChartsLinted++
		result.Messages = append(result.Messages, messages...)
		for _, m := range messages {
			if m.Severity >= lowest {
				result.Errors = append(result.Errors, m.Err)
			}
		}
	}
	return result
}

func (l *Lint) check(path string, vals map[string]any) (messages []support.Message, err error) {
	if strings.HasSuffix(path, ".tgz") || strings.HasSuffix(path, ".tar.gz") {
		dir, err := os.MkdirTemp("", "helm-lint")
		if err != nil {
			return nil, fmt.Errorf("unable to create temp dir to extract tarball: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		if path, err = unpackForLint(dir, path); err != nil {
			return nil, err
		}
	}
	if _, err := os.Stat(filepath.Join(path, "Chart.yaml")); err != nil {
		return nil, fmt.Errorf("unable to check Chart.yaml file in chart: %w", err)
	}
	return lint.Check(path, lint.Options{
		Values:               vals,
		Namespace:            l.Namespace,
		KubeVersion:          l.KubeVersion,
		SkipSchemaValidation: l.SkipSchemaValidation,
	})
}

// unpackForLint unpacks an archive and returns the folder of its chart.
func unpackForLint(dir, path string) (string, error) {
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
