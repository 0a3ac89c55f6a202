// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderfile

import (
	"testing"

	"github.com/ordered-helm/helm/internal/testutil/editorschema"
)

const schemaPath = "../../docs/schemas/order.schema.json"

// TestSchema checks that Parse and the schema accept the same documents. The schema cannot express
// that something depends on itself, the syntax of expressions, and JSON in strings.
//   - "is a JSON schema for editors"
//   - "Empty values are ignored, except those of path and in match"
func TestSchema(t *testing.T) {
	schema := editorschema.Read(t, schemaPath)
	chart := func(rule string) string { return header + "charts: [{" + rule + "}]" }
	resource := func(rule string) string { return header + "resources: [{" + rule + "}]" }
	match := func(criteria string) string { return resource("match: {" + criteria + "}") }
	tests := []struct {
		name  string
		valid bool
		texts []string
	}{
		{"documents", true, []string{example, header, header + "charts:\nresources:\n", header + "charts: []"}},
		{"invalid documents", false, []string{
			"apiVersion: helm.sh/v1beta1\nkind: Order", header + "chart: []", header + "metadata: {name: a}", header + "charts: {}",
			header + "charts: [a]", header + "charts: [null]", header + "resources: [null]", header + "resources: a",
		}},
		{"chart rules", true, []string{chart("path: a"), chart("path: a, dependsOn: , external: []"), chart("path: ., ownDependsOn: [b]")}},
		{"invalid chart rules", false, []string{chart(""), chart("dependsOn: [b]"), chart("path: a, layer: b"), chart("path: ., dependsOn: [b]")}},
		{"paths", true, []string{
			chart("path: ."), chart("path: a/b"), chart("path: '*'"), chart("path: '**'"), chart("path: 'a*/**/b-*-c'"), chart("path: .a/..b"),
			match("chart: ."), match("chart: 'a/**'"),
		}},
		{"invalid paths", false, []string{
			chart("path: "), chart("path: ''"), chart("path: ' '"), chart("path: 1"), chart("path: [a]"), chart("path: /"), chart("path: /a"), chart("path: a/"), chart("path: a//b"),
			chart("path: .."), chart("path: ../a"), chart("path: a/.."), chart("path: ./a"), chart("path: a/./b"), chart("path: a/."),
			chart("path: 'a**'"), chart("path: '**a'"), chart("path: '***'"), chart("path: 'b/**a/c'"), match("chart: ''"), match("chart: "), match("chart: ../a"),
		}},
		{"lists", true, []string{
			chart("path: a, dependsOn: b"), chart("path: a, dependsOn: [b, c]"), chart("path: a, ownDependsOn: [a]"), chart("path: a, external: [Secret/a]"),
			resource("match: {}, dependsOn: 'a, b'"), resource("match: {}, readiness: {success: '{.a} == 1', failure: []}"),
		}},
		{"invalid lists", false, []string{
			chart("path: a, dependsOn: {}"), chart("path: a, dependsOn: [1]"), chart("path: a, dependsOn: true"), chart("path: a, external: [[a]]"),
			chart("path: a, ownDependsOn: [{}]"), resource("match: {}, dependsOn: [1]"), resource("match: {}, readiness: {success: {}}"), resource("match: {}, readiness: {failure: [1]}"),
		}},
		{"hookScope", true, []string{chart("path: a, hookScope: chart"), chart("path: a, hookScope: release"), chart("path: a, hookScope: "), chart("path: a, hookScope: ''")}},
		{"invalid hookScope", false, []string{chart("path: a, hookScope: Chart"), chart("path: a, hookScope: true"), chart("path: a, hookScope: [chart]")}},
		{"durations", true, []string{
			chart("path: a, readinessTimeout: 5m"), chart("path: a, readinessTimeout: 1h30m"), chart("path: a, readinessTimeout: ' 1.5s '"),
			chart("path: a, readinessTimeout: +.5s"), chart("path: a, readinessTimeout: "), chart("path: a, readinessTimeout: ''"), resource("match: {}, readiness: {timeout: 10us}"),
		}},
		{"invalid durations", false, []string{
			chart("path: a, readinessTimeout: 5"), chart("path: a, readinessTimeout: '5'"), chart("path: a, readinessTimeout: -5m"), chart("path: a, readinessTimeout: 0s"),
			chart("path: a, readinessTimeout: '0'"), chart("path: a, readinessTimeout: 5 m"), chart("path: a, readinessTimeout: [5m]"), resource("match: {}, readiness: {timeout: 1d}"),
		}},
		{"resource rules", true, []string{
			match(""), resource("match: "), match("kind: Job"), match("kind: Job.batch"), match("kind: Certificate.cert-manager.io"), match("name: '*-db'"), match("labels: {a: b, c: ''}"),
			match("labels: "), resource("match: {}, layer: a"), resource("match: {}, layer: ''"), resource("match: {}, readiness: "), resource("match: {}, readiness: {}"),
		}},
		{"invalid resource rules", false, []string{
			resource(""), resource("layer: a"), resource("match: []"), resource("match: a"), match("kinds: Job"), match("kind: "), match("kind: '*'"), match("kind: batch/Job"), match("kind: Job."),
			match("kind: Job.Batch"), match("kind: Job.-a"), match("kind: [Job]"), match("name: "), match("name: 1"), match("name: [a]"), match("labels: [a]"), match("labels: {a: 1}"),
			match("labels: {a: true}"), match("labels: {a: }"), match("labels: {a: [b]}"), resource("match: {}, ownDependsOn: [a]"), resource("match: {}, readiness: []"),
			resource("match: {}, readiness: {timeuot: 1s}"),
		}},
		{"invalid layers", false, []string{
			resource("match: {}, layer: 'a b'"), resource("match: {}, layer: 'a,b'"), resource("match: {}, layer: 1"), resource("match: {}, layer: [a]"),
			resource("match: {}, layer: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, text := range tt.texts {
				checkSchema(t, schema, text, tt.valid)
			}
		})
	}
}

// checkSchema checks whether Parse and the schema accept text.
func checkSchema(t *testing.T, schema editorschema.Schema, text string, valid bool) {
	t.Helper()
	if _, err := Parse("order.yaml", "shop", []byte(text)); (err == nil) != valid {
		t.Errorf("Parse: got %v\n%s", err, text)
	}
	if err := schema.Validate(t, text); (err == nil) != valid {
		t.Errorf("schema: got %v\n%s", err, text)
	}
}

// TestSchemaLimits checks that the schema accepts some files that Parse or the deployment does not accept.
//   - "It does not check the syntax of expressions and external dependencies"
func TestSchemaLimits(t *testing.T) {
	schema := editorschema.Read(t, schemaPath)
	for name, text := range map[string]string{
		"expressions": "resources: [{match: {}, readiness: {success: [a b c]}}]", "external dependencies": "charts: [{path: a, external: [a b c]}]",
	} {
		if err := schema.Validate(t, header+text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
