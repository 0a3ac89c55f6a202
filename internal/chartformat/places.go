// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartformat

import (
	"slices"
	"strings"
)

// The fields of the format, by the mapping that contains them.
var (
	topFields      = []string{"apiVersion", "kind", "metadata", "data"}
	metadataFields = []string{"name", "labels", "annotations", "runHooksInParallel"}
	dataFields     = []string{
		"description", "home", "sources", "keywords", "maintainers", "icon", "deprecated", "kubeVersion", "type",
		"dependencies", "libraries", "runHooksInParallel",
	}
	// removedFields are fields of Helm 2 without a successor.
	removedFields    = []string{"engine", "tillerVersion"}
	maintainerFields = []string{"name", "email", "url"}
	dependencyFields = []string{"name", "version", "repository", "condition", "tags", "enabled", "import-values", "alias", "depends-on"}
	libraryFields    = []string{"name", "version", "repository"}
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

// fieldProblem describes the problem of a field with a name that its mapping does not have.
// allowed are the names that the mapping has.
func fieldProblem(name string, allowed []string) string {
	if place := properPlace(name); place != "" {
		return "belongs in " + place
	}
	if slices.Contains(removedFields, name) {
		return "does not exist in charts of " + apiVersion + ": remove it"
	}
	return "unknown field: must be one of " + strings.Join(allowed, ", ")
}
