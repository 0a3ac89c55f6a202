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

// FieldFilter tells which of the fields that Helm does not know are put back into a
// Chart.yaml. It is given the name of a field, without its place.
type FieldFilter func(name string) bool

// AllFields is every field of the file.
func AllFields(string) bool { return true }

// OrderFields are the fields that this Helm adds to Chart.yaml.
func OrderFields(name string) bool { return name == "runHooksInParallel" || name == "depends-on" }

// ChartYAML returns the Chart.yaml of a chart as Helm writes it, with the fields
// that Helm's types leave out put back from the file that the chart was loaded
// from. A chart that was made in memory has no such file.
func ChartYAML(ch *chart.Chart, fields FieldFilter) ([]byte, error) {
	written, err := yaml.Marshal(ch.Metadata)
	if err != nil {
		return nil, err
	}
	return restoreFields(written, ch, fields)
}

// restoreFields puts what Helm leaves out back into a Chart.yaml that it has written.
// Where nothing is missing it returns the very bytes given.
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

// decodeYAML reads YAML without losing digits of its numbers.
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

// mergeFields adds the fields of raw that the type does not have to what was written
// of it, and reports whether there were any.
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

// mergeList does so for each entry of a list of structures, such as the
// dependencies, if both have the same entries.
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

// jsonField is a field as JSON names it.
type jsonField struct {
	name string
	kind reflect.Type
}

// jsonFields gives the fields of a structure by their names in small letters:
// JSON does not tell letters apart by case.
func jsonFields(t reflect.Type) map[string]jsonField {
	fields := make(map[string]jsonField)
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		fields[strings.ToLower(name)] = jsonField{name: name, kind: t.Field(i).Type}
	}
	return fields
}

// listElement gives the structure that a list has pointers to; nil if it is no
// such list.
func listElement(list reflect.Type) reflect.Type {
	if list.Kind() != reflect.Slice || list.Elem().Kind() != reflect.Pointer || list.Elem().Elem().Kind() != reflect.Struct {
		return nil
	}
	return list.Elem().Elem()
}
