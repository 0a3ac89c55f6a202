// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartsource

import (
	"encoding/json"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
)

// checkSchemas returns an error if the schema of a chart or subchart refers to another document. Helm would
// read it, even if it is a file of the controller or a server that only the controller can reach.
func checkSchemas(ch *chart.Chart) error {
	var schema any
	if len(ch.Schema) > 0 && json.Unmarshal(ch.Schema, &schema) == nil { // Helm reports invalid JSON
		if url := foreignReference(schema); url != "" {
			return fail(ReasonInvalid, "values.schema.json of chart %s refers to %q, which the controller does not read: include the schema in the chart", ch.ChartFullPath(), url)
		}
	}
	for _, sub := range ch.Dependencies() {
		if err := checkSchemas(sub); err != nil {
			return err
		}
	}
	return nil
}

// foreignReference returns a reference to another document in a schema; empty if there is none.
func foreignReference(schema any) string {
	switch value := schema.(type) {
	case map[string]any:
		for key, item := range value {
			if text, is := item.(string); is && isForeign(key, text) {
				return text
			}
			if found := foreignReference(item); found != "" {
				return found
			}
		}
	case []any:
		for _, item := range value {
			if found := foreignReference(item); found != "" {
				return found
			}
		}
	}
	return ""
}

// knownDrafts returns the values of "$schema" that need not be read.
func knownDrafts() []string {
	return []string{
		"http://json-schema.org/draft-04/schema", "http://json-schema.org/draft-06/schema", "http://json-schema.org/draft-07/schema",
		"https://json-schema.org/draft-04/schema", "https://json-schema.org/draft-06/schema", "https://json-schema.org/draft-07/schema",
		"https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema",
	}
}

// isForeign reports whether a keyword refers to another document.
func isForeign(keyword, value string) bool {
	switch keyword {
	case "$ref", "$dynamicRef", "$recursiveRef":
		return !strings.HasPrefix(value, "#")
	case "$schema":
		return !slices.Contains(knownDrafts(), strings.TrimSuffix(value, "#"))
	}
	return false
}
