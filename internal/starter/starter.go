// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package starter implements helm create --starter: it creates a chart as a copy of another
// chart, the starter. In contrast to Helm, it keeps the starter's fields and annotations about
// order and hooks.
package starter

import (
	"bytes"
	"fmt"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/archive"
	"github.com/ordered-helm/helm/internal/chartloader"
)

// placeholder is replaced with the name of the new chart in the files of a starter.
const placeholder = "<CHARTNAME>"

// Create copies the starter at path to the directory parent/meta.Name, and replaces its
// metadata with meta. From the Chart.yaml of the starter, Create keeps runHooksInParallel,
// the apiVersion if it is v3, and the sequencing annotations. It also sets the apiVersion
// and the annotations in meta.
func Create(meta *chart.Metadata, parent, path string) error {
	starter, err := chartloader.Load(path)
	if err != nil {
		return fmt.Errorf("could not load %s: %w", path, err)
	}
	keepOrder(meta, starter.Metadata)
	starter.Metadata = meta
	if err := replacePlaceholder(starter, meta.Name); err != nil {
		return err
	}
	return archive.SaveDir(starter, parent, func(field string) bool { return field == "runHooksInParallel" })
}

// keepOrder copies the sequencing annotations, and the apiVersion if it is v3, from the
// metadata of a starter to meta.
func keepOrder(meta, starter *chart.Metadata) {
	if starter.APIVersion == chartloader.APIVersionV3 {
		meta.APIVersion = chartloader.APIVersionV3
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

// replacePlaceholder replaces the placeholder in the templates and the values.yaml of a
// starter with the name of the new chart.
func replacePlaceholder(starter *chart.Chart, name string) error {
	replaced := func(data []byte) []byte {
		return bytes.ReplaceAll(data, []byte(placeholder), []byte(name))
	}
	for _, template := range starter.Templates {
		template.Data = replaced(template.Data)
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
