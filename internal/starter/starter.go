// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package starter creates a new chart from a starter, which is a chart that serves as a
// pattern (helm create --starter). Unlike Helm, it keeps the starter's declarations of
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

// placeholder stands for the name of the new chart in the files of a starter.
const placeholder = "<CHARTNAME>"

// Create creates a chart in a subdirectory of parent that has the name of the chart. It
// copies the starter at path and replaces its metadata with meta. From the Chart.yaml of
// the starter it keeps the apiVersion v3, runHooksInParallel and the sequencing
// annotations. It adds the apiVersion and the annotations to meta.
func Create(meta *chart.Metadata, parent, path string) error {
	pattern, err := chartloader.Load(path)
	if err != nil {
		return fmt.Errorf("could not load %s: %w", path, err)
	}
	keepOrder(meta, pattern.Metadata)
	pattern.Metadata = meta
	if err := rename(pattern, meta.Name); err != nil {
		return err
	}
	return archive.SaveDir(pattern, parent, func(field string) bool { return field == "runHooksInParallel" })
}

// keepOrder copies the apiVersion v3 and the sequencing annotations from the metadata of a
// starter to meta.
func keepOrder(meta, from *chart.Metadata) {
	if from.APIVersion == chartloader.APIVersionV3 {
		meta.APIVersion = chartloader.APIVersionV3
	}
	for _, key := range annotation.ChartKeys() {
		value, ok := from.Annotations[key]
		if !ok {
			continue
		}
		if meta.Annotations == nil {
			meta.Annotations = make(map[string]string)
		}
		meta.Annotations[key] = value
	}
}

// rename replaces the placeholder in the templates and values of a starter with the name of
// the new chart.
func rename(pattern *chart.Chart, name string) error {
	replaced := func(data []byte) []byte {
		return bytes.ReplaceAll(data, []byte(placeholder), []byte(name))
	}
	for _, template := range pattern.Templates {
		template.Data = replaced(template.Data)
	}
	for _, file := range pattern.Raw {
		if file.Name != chartutil.ValuesfileName {
			continue
		}
		file.Data = replaced(file.Data)
	}
	// The name can make the values invalid. Helm checks them without their comments.
	values, err := yaml.Marshal(pattern.Values)
	if err != nil {
		return fmt.Errorf("reading values file: %w", err)
	}
	var renamed map[string]any
	if err := yaml.Unmarshal(replaced(values), &renamed); err != nil {
		return fmt.Errorf("transforming values file: %w", err)
	}
	return nil
}
