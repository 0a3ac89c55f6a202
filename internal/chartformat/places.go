// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartformat

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// The fields of the format, by the mapping that contains them.
var (
	topFields      = []string{"apiVersion", "kind", "metadata", "data"}
	metadataFields = []string{"name", "labels", "annotations", "runHooksInParallel"}
	dataFields     = []string{
		"description", "home", "sources", "keywords", "maintainers", "icon", "deprecated", "kubeVersion", "type",
		"dependencies", "libraries", "runHooksInParallel", "hookScope",
	}
	// removedFields are fields of Helm 2 without a successor.
	removedFields    = []string{"engine", "tillerVersion"}
	maintainerFields = []string{"name", "email", "url"}
	dependencyFields = []string{"name", "version", "repository", "condition", "tags", "enabled", "import-values", "alias", "depends-on", "hookScope"}
	libraryFields    = []string{"name", "version", "repository"}
)

// The values that fields can have.
var (
	chartTypes = []string{"", "application", "library"}
	hookModes  = []string{"true", "false", "otherChartsOnly"}
)

// properPlace returns the path of a field of the flat format in this format, or "" if there is
// no such field.
func properPlace(field string) string {
	switch {
	case field == "name", field == "labels", field == "annotations":
		return "metadata." + field
	case field == "version", field == "appVersion":
		return "metadata.labels." + field
	case slices.Contains(dataFields, field):
		return "data." + field
	}
	return ""
}

// Path returns the keys that lead to a field of a Chart.yaml, of any format, from its root node.
// flat contains the keys that lead to the field in the flat format.
func Path(root *yaml.Node, flat ...string) []string {
	place := properPlace(flat[0])
	if place == "" || !isV3(root) {
		return flat
	}
	return slices.Concat(strings.Split(place, "."), flat[1:])
}

// fieldProblem describes the problem of a field with a name that its mapping does not have.
// allowed are the names that the mapping has.
func fieldProblem(name string, allowed []string) string {
	if place := properPlace(name); place != "" {
		return "belongs in " + place
	}
	if slices.Contains(removedFields, name) {
		return "does not exist in charts of " + APIVersion + ": remove it"
	}
	return "unknown field: must be one of " + strings.Join(allowed, ", ")
}
