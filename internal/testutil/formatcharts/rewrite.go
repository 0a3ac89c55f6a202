// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package formatcharts

import (
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/annotation"
)

// Place says where a rewritten chart declares its dependencies.
type Place string

// The places for dependencies: in Chart.yaml, or in requirements.yaml below one of the keys that it
// can have.
const (
	InChartYAML         Place = ""
	BelowRequirements   Place = "requirements"
	BelowHelm2Key       Place = "dependencies"
	requirementsFile          = "requirements.yaml"
	sequencedAPIVersion       = "v3"
)

// chartFolder matches the paths of the Chart.yaml of a chart and of its subcharts in directories.
var chartFolder = regexp.MustCompile(`^((?:charts/[^/_.][^/]*/)*)Chart\.yaml$`)

// Rewrite returns a flat chart, and its subcharts in directories, in the format helm.sh/v3. The
// rewritten charts mean the same as the flat ones: they are deployed in order only if these were.
// It returns an error if a Chart.yaml has a field that the format does not have.
func Rewrite(flat Files, place Place) (Files, error) {
	rewritten := Files{}
	for name, text := range flat {
		rewritten[name] = text
	}
	for name := range flat {
		match := chartFolder.FindStringSubmatch(name)
		if match == nil {
			continue
		}
		if err := rewritten.rewriteChart(match[1], place); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return rewritten, nil
}

// rewriteChart rewrites the flat chart in a folder, which is empty or ends with a slash.
func (files Files) rewriteChart(folder string, place Place) error {
	flat := map[string]any{}
	for _, name := range []string{folder + "Chart.yaml", folder + requirementsFile} {
		if err := yaml.Unmarshal([]byte(files[name]), &flat); err != nil {
			return err
		}
	}
	delete(files, folder+requirementsFile)
	chart, dependencies, err := convert(flat, place)
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(chart)
	if err != nil {
		return err
	}
	files[folder+"Chart.yaml"] = string(text)
	if dependencies == nil {
		return nil
	}
	text, err = yaml.Marshal(map[string]any{string(place): dependencies})
	files[folder+requirementsFile] = string(text)
	return err
}

// convert converts the content of a flat Chart.yaml. dependencies is nil if the result contains them.
func convert(flat map[string]any, place Place) (chart map[string]any, dependencies any, err error) {
	labels, annotations, data := map[string]any{}, map[string]any{}, map[string]any{}
	metadata := map[string]any{"labels": labels, "annotations": annotations}
	for name, value := range flat {
		switch name {
		case "apiVersion":
		case "name":
			metadata[name] = value
		case "version", "appVersion":
			labels[name] = value
		case "annotations":
			if given, ok := value.(map[string]any); ok {
				convertAnnotations(given, annotations, data)
			}
		case "dependencies":
			if place != InChartYAML {
				dependencies = value
			} else {
				data[name] = value
			}
		case "description", "home", "sources", "keywords", "maintainers", "icon", "deprecated", "kubeVersion", "type", annotation.HookModeField, annotation.HookScopeField:
			data[name] = value
		default:
			return nil, nil, fmt.Errorf("the format has no field %s", name)
		}
	}
	setOrder(flat, annotations)
	return map[string]any{"apiVersion": "helm.sh/v3", "kind": "Chart", "metadata": metadata, "data": data}, dependencies, nil
}

// convertAnnotations copies annotations, except those for which the format has a field of data.
func convertAnnotations(given, annotations, data map[string]any) {
	for key, value := range given {
		switch {
		case key == annotation.RunHooksInParallel:
			data[annotation.HookModeField] = value
		case key == annotation.HookScope:
			data[annotation.HookScopeField] = value
		case key == annotation.Sequencing && value == annotation.SequencingEnabled: // the default
		default:
			annotations[key] = value
		}
	}
}

// setOrder disables the order of a chart of the format if that of the flat chart is not enabled.
func setOrder(flat, annotations map[string]any) {
	given, _ := flat["annotations"].(map[string]any)
	version, _ := flat["apiVersion"].(string)
	if given[annotation.Sequencing] != annotation.SequencingEnabled && !strings.EqualFold(version, sequencedAPIVersion) {
		annotations[annotation.Sequencing] = annotation.SequencingDisabled
	}
}
