// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartformat

import (
	"github.com/ordered-helm/helm/internal/yamledit"
)

// WithVersions returns a Chart.yaml of the format with other versions, and keeps the rest of its
// text. An empty appVersion removes none.
func WithVersions(chartYAML []byte, version, appVersion string) ([]byte, error) {
	text := string(chartYAML)
	root, err := yamledit.Parse(text)
	if err != nil {
		return nil, err
	}
	labels := yamledit.Resolve(yamledit.Lookup(root, "metadata", "labels"))
	var changes []yamledit.Change
	for _, label := range []struct{ key, value string }{{"version", version}, {"appVersion", appVersion}} {
		switch current := yamledit.Lookup(labels, label.key); {
		case label.value == "" || current != nil && current.Value == label.value:
		default:
			changes = append(changes, yamledit.Change{Mapping: labels, Key: label.key, NewValue: yamledit.Text(label.value), Insert: current == nil})
		}
	}
	edited, err := yamledit.Apply(text, root, changes)
	return []byte(edited), err
}
