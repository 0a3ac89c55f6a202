// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package starter makes a new chart from a starter: a chart that serves as a
// pattern. Unlike Helm's it keeps what a starter says about the order of its
// parts and about its hooks.
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

// placeholder stands for the new chart's name in a starter's files.
const placeholder = "<CHARTNAME>"

// Create makes the chart that meta describes in a folder of its name below
// parent, from the starter at a path. Of the starter's own Chart.yaml it keeps
// apiVersion v3, runHooksInParallel and the annotations about the order; meta is
// changed to say so.
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

// keepOrder takes what a starter declares about order into a new chart.
func keepOrder(meta, from *chart.Metadata) {
	if from.APIVersion == chartloader.APIVersionV3 {
		meta.APIVersion = chartloader.APIVersionV3
	}
	for _, key := range []string{
		annotation.DependsOnSubcharts, annotation.DependsOnSubchartsCanonical,
		annotation.RunHooksInParallel, annotation.Sequencing,
	} {
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

// rename puts the new chart's name in the place of the placeholder, in templates
// and values.
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
	// A name may break the values; Helm looks at them without their comments.
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
