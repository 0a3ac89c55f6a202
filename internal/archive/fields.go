// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"
)

// FieldFilter reports whether to restore a field of Chart.yaml that Helm does not know,
// by its name.
type FieldFilter func(name string) bool

// AllFields restores every field.
func AllFields(string) bool { return true }

// OrderFields restores the fields that Ordered Helm adds to Chart.yaml.
func OrderFields(name string) bool { return name == "runHooksInParallel" || name == "depends-on" }

// ChartYAML returns the Chart.yaml of a chart as Helm writes it, with the fields that
// Helm's types lack restored from the file that the chart was loaded from. A chart that
// was created in memory has no such file.
func ChartYAML(ch *chart.Chart, fields FieldFilter) ([]byte, error) {
	written, err := yaml.Marshal(ch.Metadata)
	if err != nil {
		return nil, err
	}
	return restoreFields(written, ch, fields)
}

// restoreFields restores the fields that Helm has dropped from a Chart.yaml. If none is
// missing, it returns the given text.
func restoreFields(written []byte, ch *chart.Chart, fields FieldFilter) ([]byte, error) {
	i := slices.IndexFunc(ch.Raw, func(f *chart.File) bool { return f.Name == chartutil.ChartfileName })
	if i < 0 {
		return written, nil
	}
	full, err := decodeYAML(written)
	if err != nil {
		return nil, err
	}
	raw, err := decodeYAML(ch.Raw[i].Data)
	if err != nil {
		return nil, fmt.Errorf("cannot load Chart.yaml: %w", err)
	}
	if !mergeFields(full, raw, "", fields) {
		return written, nil
	}
	return yaml.Marshal(full)
}

// decodeYAML decodes YAML without losing digits of its numbers.
func decodeYAML(text []byte) (map[string]any, error) {
	m := map[string]any{}
	err := yaml.Unmarshal(text, &m, func(d *json.Decoder) *json.Decoder {
		d.UseNumber()
		return d
	})
	return m, err
}

// helmFields are the names of the fields that Helm's types have, in lower case. The empty
// key lists the fields of Chart.yaml. Every other key is a list in Chart.yaml, with the
// fields of its entries.
var helmFields = map[string][]string{
	"": {
		"name", "home", "sources", "version", "description", "keywords", "maintainers", "icon", "apiversion", "condition",
		"tags", "appversion", "deprecated", "annotations", "kubeversion", "dependencies", "type",
	},
	"maintainers":  {"name", "email", "url"},
	"dependencies": {"name", "version", "repository", "condition", "tags", "enabled", "import-values", "alias"},
}

// mergeFields adds the fields that Helm drops from Chart.yaml, or from an entry of a list
// in it, to the map that Helm wrote. It reports whether it added any. It ignores the case
// of names, as Helm's JSON decoder does.
func mergeFields(written, raw map[string]any, list string, fields FieldFilter) (changed bool) {
	for name, value := range raw {
		field := strings.ToLower(name)
		switch {
		case !slices.Contains(helmFields[list], field):
			if fields(name) {
				written[name] = value
				changed = true
			}
		case list == "" && helmFields[field] != nil:
			changed = mergeEntries(written[field], value, field, fields) || changed
		}
	}
	return changed
}

// mergeEntries calls mergeFields for each entry of a list, if both lists have the same
// length.
func mergeEntries(written, raw any, list string, fields FieldFilter) (changed bool) {
	to, _ := written.([]any)
	from, _ := raw.([]any)
	if len(to) != len(from) {
		return false
	}
	for i := range from {
		entry, _ := to[i].(map[string]any)
		rawEntry, _ := from[i].(map[string]any)
		if entry != nil && rawEntry != nil {
			changed = mergeFields(entry, rawEntry, list, fields) || changed
		}
	}
	return changed
}
