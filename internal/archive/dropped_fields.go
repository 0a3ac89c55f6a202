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

	"github.com/ordered-helm/helm/internal/annotation"
)

// DroppedFieldFilter reports whether to restore a field that Helm has dropped from Chart.yaml,
// because Helm's types do not have it. name is the name of the field.
type DroppedFieldFilter func(name string) bool

// AllFields is a DroppedFieldFilter that restores every dropped field.
func AllFields(string) bool { return true }

// OrderFields is a DroppedFieldFilter that restores only the fields that Ordered Helm adds to
// Chart.yaml, and to the entries of its dependencies.
func OrderFields(name string) bool {
	return HookFields(name) || name == annotation.DependsOnField
}

// HookFields is a DroppedFieldFilter that restores only the fields that say how and when the hooks of
// the chart run.
func HookFields(name string) bool {
	return name == annotation.HookModeField || name == annotation.HookScopeField
}

// ChartYAML returns the Chart.yaml of ch as Helm writes it, plus those dropped fields for
// which filter returns true. It takes these fields from the file from which ch was loaded.
// If ch was created in memory, there is no such file, and nothing is restored.
func ChartYAML(ch *chart.Chart, filter DroppedFieldFilter) ([]byte, error) {
	written, err := yaml.Marshal(ch.Metadata)
	if err != nil {
		return nil, err
	}
	return restoreFields(written, ch, filter)
}

// restoreFields returns written, which is a Chart.yaml that Helm has written for ch, plus
// the dropped fields for which filter returns true. If there are none, it returns written
// unchanged.
func restoreFields(written []byte, ch *chart.Chart, filter DroppedFieldFilter) ([]byte, error) {
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
	if !mergeFields(full, raw, "", filter) {
		return written, nil
	}
	return yaml.Marshal(full)
}

// decodeYAML decodes a YAML mapping. It keeps all digits of numbers.
func decodeYAML(text []byte) (map[string]any, error) {
	m := map[string]any{}
	err := yaml.Unmarshal(text, &m, func(d *json.Decoder) *json.Decoder {
		d.UseNumber()
		return d
	})
	return m, err
}

// helmFields contains the names of the fields in Helm's types, in lower case. The key ""
// has the fields of Chart.yaml. Every other key is the name of a list in Chart.yaml, and
// has the fields of the entries of that list.
var helmFields = map[string][]string{
	"": {
		"name", "home", "sources", "version", "description", "keywords", "maintainers", "icon", "apiversion", "condition",
		"tags", "appversion", "deprecated", "annotations", "kubeversion", "dependencies", "type",
	},
	"maintainers":  {"name", "email", "url"},
	"dependencies": {"name", "version", "repository", "condition", "tags", "enabled", "import-values", "alias"},
}

// mergeFields copies to written those fields of raw that Helm does not know and for which
// filter returns true. It reports whether it copied any. If list is "", raw and written
// are the contents of Chart.yaml; otherwise they are entries of the list with this name in
// Chart.yaml. As in Helm's JSON decoder, the case of names does not matter.
func mergeFields(written, raw map[string]any, list string, filter DroppedFieldFilter) (changed bool) {
	for name, value := range raw {
		field := strings.ToLower(name)
		switch {
		case !slices.Contains(helmFields[list], field):
			if filter(name) {
				written[name] = value
				changed = true
			}
		case list == "" && helmFields[field] != nil:
			changed = mergeEntries(written[field], value, field, filter) || changed
		}
	}
	return changed
}

// mergeEntries calls mergeFields for each pair of entries with the same index in two
// lists. If the lists differ in length, it does nothing. It reports whether any field was
// copied.
func mergeEntries(written, raw any, list string, filter DroppedFieldFilter) (changed bool) {
	writtenList, _ := written.([]any)
	rawList, _ := raw.([]any)
	if len(writtenList) != len(rawList) {
		return false
	}
	for i := range rawList {
		entry, _ := writtenList[i].(map[string]any)
		rawEntry, _ := rawList[i].(map[string]any)
		if entry != nil && rawEntry != nil {
			changed = mergeFields(entry, rawEntry, list, filter) || changed
		}
	}
	return changed
}
