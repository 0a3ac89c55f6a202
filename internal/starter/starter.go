// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package starter implements what Helm lacks in helm create: it creates a chart as a copy of
// another chart, the starter, and keeps the starter's fields and annotations about order and
// hooks. It also writes new charts in the format helm.sh/v3.
package starter

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/archive"
	"github.com/ordered-helm/helm/internal/chartformat"
	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/declaration"
	"github.com/ordered-helm/helm/internal/library"
	"github.com/ordered-helm/helm/internal/orderfile"
)

// placeholder is replaced with the name of the new chart in the files of a starter.
const placeholder = "<CHARTNAME>"

// Format is the format of the Chart.yaml of a new chart.
type Format string

const (
	// V2 is the flat format, with apiVersion v2.
	V2 Format = chart.APIVersionV2
	// V3 is the format helm.sh/v3 (docs/reference.md, "The chart format helm.sh/v3").
	V3 Format = chartformat.APIVersion
)

// Create copies the starter at path to the directory parent/meta.Name, and replaces its
// metadata with meta. From the Chart.yaml of the starter, Create keeps runHooksInParallel, hookScope,
// the sequencing annotations, and libraries, which only the format helm.sh/v3 has. It also sets the
// apiVersion and the annotations in meta. An empty format is the format of the starter; in the flat
// format, this includes apiVersion v3.
func Create(meta *chart.Metadata, parent, path string, format Format) error {
	starter, err := chartloader.Load(path)
	if err != nil {
		return fmt.Errorf("could not load %s: %w", path, err)
	}
	if _, isV3 := chartloader.OriginalFile(starter, chartformat.OriginalChartFile); isV3 && format == "" {
		format = V3
	}
	keepOrder(meta, starter.Metadata, format)
	if err := keepLibraries(meta, starter, format); err != nil {
		return fmt.Errorf("starter %s: %w", path, err)
	}
	starter.Metadata = meta
	if err := replacePlaceholder(starter, meta.Name); err != nil {
		return err
	}
	if err := archive.SaveDir(starter, parent, archive.HookFields); err != nil {
		return err
	}
	if format == V3 {
		return Rewrite(filepath.Join(parent, meta.Name))
	}
	return nil
}

// Rewrite rewrites the flat Chart.yaml of the chart in a directory in the format helm.sh/v3.
func Rewrite(dir string) error {
	path := filepath.Join(dir, chartutil.ChartfileName)
	flat, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text, err := chartformat.FromFlat(flat)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// keepOrder copies the sequencing annotations from the metadata of a starter to meta. If the
// starter is of apiVersion v3, meta gets the same apiVersion, unless another format is wanted.
func keepOrder(meta, starter *chart.Metadata, format Format) {
	if starter.APIVersion == declaration.APIVersionV3 {
		if format == "" {
			meta.APIVersion = declaration.APIVersionV3
		} else {
			meta.Annotations = map[string]string{annotation.Sequencing: annotation.SequencingEnabled}
		}
	}
	for _, key := range annotation.ChartKeys() {
		value, ok := starter.Annotations[key]
		if !ok {
			continue
		}
		if meta.Annotations == nil {
			meta.Annotations = make(map[string]string)
		}
		meta.Annotations[key] = value
	}
}

// keepLibraries copies the declarations of the libraries that a starter uses to meta, and adds the
// libraries to its files.
func keepLibraries(meta *chart.Metadata, starter *chart.Chart, format Format) error {
	_, libraries := library.Split(starter.Metadata, starter.Metadata.Dependencies)
	if len(libraries) == 0 {
		return nil
	}
	if format != V3 {
		return fmt.Errorf("it uses the library %s: only charts of the format %s can have libraries", libraries[0].Name, V3)
	}
	meta.Dependencies = libraries
	if meta.Annotations == nil {
		meta.Annotations = make(map[string]string)
	}
	meta.Annotations[annotation.Libraries] = starter.Metadata.Annotations[annotation.Libraries]
	for _, file := range starter.Raw {
		if strings.HasPrefix(file.Name, library.Directory) {
			starter.Files = append(starter.Files, file)
		}
	}
	starter.SetDependencies(slices.DeleteFunc(starter.Dependencies(), func(sub *chart.Chart) bool { return library.IsCopy(sub.Metadata) })...)
	return nil
}

// replacePlaceholder replaces the placeholder in the templates, the values.yaml and the order file of
// a starter with the name of the new chart.
func replacePlaceholder(starter *chart.Chart, name string) error {
	replaced := func(data []byte) []byte {
		return bytes.ReplaceAll(data, []byte(placeholder), []byte(name))
	}
	for _, template := range starter.Templates {
		template.Data = replaced(template.Data)
	}
	for _, file := range starter.Files {
		if file.Name == orderfile.FileName && orderfile.IsOrderFile(file.Data) {
			file.Data = replaced(file.Data)
		}
	}
	for _, file := range starter.Raw {
		if file.Name != chartutil.ValuesfileName {
			continue
		}
		file.Data = replaced(file.Data)
	}
	// Check that the values are still valid with the new name. As in Helm, comments are not
	// part of what is checked.
	values, err := yaml.Marshal(starter.Values)
	if err != nil {
		return fmt.Errorf("reading values file: %w", err)
	}
	var renamed map[string]any
	if err := yaml.Unmarshal(replaced(values), &renamed); err != nil {
		return fmt.Errorf("transforming values file: %w", err)
	}
	return nil
}
