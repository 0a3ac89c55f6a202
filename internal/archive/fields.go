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

// FieldFilter selects which fields to restore in a Chart.yaml that Helm has written. Helm
// drops the fields that its types do not have. The function is called with the name of such
// a field.
type FieldFilter func(name string) bool

// AllFields is a FieldFilter that restores every field.
func AllFields(string) bool { return true }

// OrderFields is a FieldFilter that restores only the fields that Ordered Helm adds to
// Chart.yaml.
func OrderFields(name string) bool { return name == "runHooksInParallel" || name == "depends-on" }

// ChartYAML returns the Chart.yaml of ch as Helm writes it, and with the selected fields
// from the file that ch was loaded from. If ch was created in memory, there is no such file
// and nothing to restore.
func ChartYAML(ch *chart.Chart, fields FieldFilter) ([]byte, error) {
	written, err := yaml.Marshal(ch.Metadata)
	if err != nil {
		return nil, err
	}
	return restoreFields(written, ch, fields)
}

// restoreFields adds to written, a Chart.yaml that Helm has written, the selected fields
// that it lacks. If none is missing, it returns written.
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

// decodeYAML decodes YAML. It keeps all digits of numbers.
func decodeYAML(text []byte) (map[string]any, error) {
	m := map[string]any{}
	err := yaml.Unmarshal(text, &m, func(d *json.Decoder) *json.Decoder {
		d.UseNumber()
		return d
	})
	return m, err
}

// helmFields are the names of the fields in Helm's types, in lower case. The key "" lists
// the fields of Chart.yaml. Every other key is a field of Chart.yaml that contains a list,
// and has the fields of the entries of that list.
var helmFields = map[string][]string{
	"": {
		"name", "home", "sources", "version", "description", "keywords", "maintainers", "icon", "apiversion", "condition",
		"tags", "appversion", "deprecated", "annotations", "kubeversion", "dependencies", "type",
	},
	"maintainers":  {"name", "email", "url"},
	"dependencies": {"name", "version", "repository", "condition", "tags", "enabled", "import-values", "alias"},
}

// mergeFields adds the selected fields that Helm does not know from raw to written, and
// reports whether it added any. Both are a Chart.yaml if list is "". Otherwise they are
// entries of this list in Chart.yaml. Names are compared without case, as in Helm's JSON
// decoder.
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

// mergeEntries calls mergeFields for the entries of two lists, if both have the same
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
