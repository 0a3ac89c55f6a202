// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package declaration

import (
	"slices"

	"helm.sh/helm/v3/pkg/chart"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/annotation"
)

// mistakes returns an error for everything in the Chart.yaml of ch that has no effect, but
// was probably meant to declare something about order or hooks: keys and fields that
// resemble those of Ordered Helm, and an invalid value of helm.sh/sequencing. raw is the
// decoded Chart.yaml.
func mistakes(ch *chart.Chart, raw *rawChart) []error {
	problems := []error{annotation.CheckChartKeys(raw.Annotations), annotation.CheckSequencing(raw.Annotations)}
	files := metadataFiles[:]
	if isTranslated(ch) { // the translation rejects unknown fields
		files = nil
	}
	for _, name := range files {
		fields := map[string]any{}
		i := slices.IndexFunc(ch.Raw, func(f *chart.File) bool { return f.Name == name })
		if i < 0 || yaml.Unmarshal(ch.Raw[i].Data, &fields) != nil {
			continue
		}
		problems = append(problems, annotation.CheckChartFields(fields))
		dependencies, _ := fields["dependencies"].([]any)
		for i, d := range dependencies {
			entry, _ := d.(map[string]any)
			if err := annotation.CheckDependencyFields(entry); err != nil {
				name, _ := entry["name"].(string)
				problems = append(problems, &DependencyError{Index: i, Name: name, Err: err})
			}
		}
	}
	return slices.DeleteFunc(problems, func(err error) bool { return err == nil })
}
