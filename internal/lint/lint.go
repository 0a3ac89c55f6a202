// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package lint checks charts by Helm's rules. These read a chart's files
// themselves and know neither apiVersion v3 nor annotations that are lists
// (docs/reference.md, "Chart.yaml"); a chart that has such is checked in a copy
// that is spelled as they expect it.
package lint

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	helmlint "helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/rules"
	"helm.sh/helm/v3/pkg/lint/support"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/yamledit"
	"github.com/ordered-helm/helm/pkg/chart/loader"
)

// Options are what a chart is checked with.
type Options struct {
	Values    map[string]any
	Namespace string
	// KubeVersion is that of the cluster it is for; nil is the default one.
	KubeVersion          *chartutil.KubeVersion
	SkipSchemaValidation bool
}

// Check checks the chart in the folder. An error means that it could not be
// checked; what is wrong with it is in the messages.
func Check(dir string, o Options) ([]support.Message, error) {
	files, err := loader.DirFiles(dir)
	if err != nil {
		return stock(dir, o), nil //nolint:nilerr // Helm's rules say what is wrong with it
	}
	legal, err := loader.LegalFiles(files)
	if err != nil {
		return []support.Message{support.NewMessage(support.ErrorSev, chartutil.ChartfileName, err)}, nil
	}
	if !differ(files, legal) && apiVersion(legal) != loader.APIVersionV3 {
		return stock(dir, o), nil
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	return checkCopy(absolute, legal, o)
}

func stock(dir string, o Options) []support.Message {
	return helmlint.AllWithKubeVersionAndSchemaValidation(dir, o.Values, o.Namespace, o.KubeVersion, o.SkipSchemaValidation).Messages
}

func differ(files, legal []*loader.BufferedFile) bool {
	return !slices.EqualFunc(files, legal, func(a, b *loader.BufferedFile) bool { return bytes.Equal(a.Data, b.Data) })
}

// apiVersion is what a chart says of itself; empty if that cannot be read.
func apiVersion(files []*loader.BufferedFile) string {
	var metadata struct {
		APIVersion string `json:"apiVersion"`
	}
	for _, f := range files {
		if f.Name == chartutil.ChartfileName && yaml.Unmarshal(f.Data, &metadata) != nil {
			return ""
		}
	}
	return metadata.APIVersion
}

// checkCopy checks a chart by its files in legal form. The messages name the
// folder that the chart is in.
func checkCopy(dir string, legal []*loader.BufferedFile, o Options) (messages []support.Message, err error) {
	temporary, err := os.MkdirTemp("", "helm-lint")
	if err != nil {
		return nil, fmt.Errorf("make a folder to check the chart in: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()

	whole, definition := filepath.Join(temporary, "chart"), filepath.Join(temporary, "definition")
	for _, f := range legal {
		if err := write(filepath.Join(whole, filepath.FromSlash(f.Name)), f.Data); err != nil {
			return nil, err
		}
		if f.Name == chartutil.ChartfileName {
			if err := write(filepath.Join(definition, f.Name), asV2(f.Data)); err != nil {
				return nil, err
			}
		}
	}
	linter := &support.Linter{ChartDir: definition}
	rules.Chartfile(linter)
	linter.ChartDir = whole
	rules.ValuesWithOverrides(linter, o.Values)
	rules.TemplatesWithSkipSchemaValidation(linter, o.Values, o.Namespace, o.KubeVersion, o.SkipSchemaValidation)
	rules.Dependencies(linter)

	from := strings.NewReplacer(whole, dir, definition, dir)
	for i, m := range linter.Messages {
		linter.Messages[i].Path = from.Replace(m.Path)
		if text := m.Err.Error(); strings.Contains(text, temporary) {
			linter.Messages[i].Err = errors.New(from.Replace(text))
		}
	}
	return linter.Messages, nil
}

func write(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o600)
}

// asV2 gives a Chart.yaml of apiVersion v3 as one of v2, whose rules it is
// checked by: what Helm's rules allow in it is the same.
func asV2(text []byte) []byte {
	root, err := yamledit.Parse(string(text))
	if err != nil {
		return text
	}
	value := yamledit.Lookup(root, "apiVersion")
	if value == nil || value.Value != loader.APIVersionV3 {
		return text
	}
	edited, err := yamledit.Apply(string(text), root, []yamledit.Change{{
		Mapping: root, Key: "apiVersion", NewValue: yamledit.Text(chart.APIVersionV2),
	}})
	if err != nil {
		return text
	}
	return []byte(edited)
}
