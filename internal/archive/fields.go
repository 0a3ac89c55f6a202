// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
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
	if !mergeFields(full, raw, reflect.TypeFor[chart.Metadata](), fields) {
		return written, nil
	}
	return yaml.Marshal(full)
}

// decodeYAML decodes YAML without losing digits of numbers.
func decodeYAML(text []byte) (map[string]any, error) {
	data, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, err
	}
	m := map[string]any{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err = d.Decode(&m)
	return m, err
}

// mergeFields adds the fields of raw that the type lacks. It reports whether there were
// any.
func mergeFields(written, raw map[string]any, t reflect.Type, fields FieldFilter) (changed bool) {
	known := jsonFields(t)
	for name, value := range raw {
		field, ok := known[strings.ToLower(name)]
		switch {
		case ok:
			changed = mergeList(written[field.name], value, field.kind, fields) || changed
		case fields(name):
			written[name] = value
			changed = true
		}
	}
	return changed
}

// mergeList merges each entry of a list of structs, such as the dependencies, if both
// lists have the same length.
func mergeList(written, raw any, list reflect.Type, fields FieldFilter) (changed bool) {
	element := listElement(list)
	to, _ := written.([]any)
	from, _ := raw.([]any)
	if element == nil || len(to) != len(from) {
		return false
	}
	for i := range from {
		entry, _ := to[i].(map[string]any)
		rawEntry, _ := from[i].(map[string]any)
		if entry != nil && rawEntry != nil {
			changed = mergeFields(entry, rawEntry, element, fields) || changed
		}
	}
	return changed
}

// jsonField is a struct field with its name in JSON.
type jsonField struct {
	name string
	kind reflect.Type
}

// jsonFields returns the fields of a struct by their names in lower case, because JSON
// names are not case-sensitive.
func jsonFields(t reflect.Type) map[string]jsonField {
	fields := make(map[string]jsonField)
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		fields[strings.ToLower(name)] = jsonField{name: name, kind: t.Field(i).Type}
	}
	return fields
}

// listElement returns the struct type that the elements of a list point to, or nil.
func listElement(list reflect.Type) reflect.Type {
	if list.Kind() != reflect.Slice || list.Elem().Kind() != reflect.Pointer || list.Elem().Elem().Kind() != reflect.Struct {
		return nil
	}
	return list.Elem().Elem()
}
