// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lint

// Rule describes a lint rule that Helm does not have (docs/lint.md).
type Rule struct {
	// Name is the name of the rule, as in Finding.Rule.
	Name string
	// Severity is the usual severity of the findings: Error, Warning or Info.
	Severity string
	// Summary says what the rule reports, and Help how to correct it.
	Summary, Help string
}

// Rules about the form of keys and values, in Chart.yaml and in templates.
var (
	annotationNotString = Rule{
		"annotation-not-string", Error, "an annotation has a value that is not a string",
		"Quote numbers and booleans; write lists and maps as a JSON string.",
	}
	conflictingSpellings = Rule{
		"conflicting-spellings", Error, "two keys for the same setting contradict each other",
		"Keep one of the two.",
	}
	malformedValue = Rule{
		"malformed-value", Error, "a value has an invalid type or format",
		"Use a list of strings, a JSON list in a string, or a plain string.",
	}
	misplacedKey = Rule{
		"misplaced-key", Error, "a key has no effect in its place",
		"Subchart dependencies and hook modes belong in Chart.yaml; layers and readiness belong in templates.",
	}
	twoSlashKey = Rule{
		"two-slash-key", Info, "an annotation has a key with two slashes, which Kubernetes and stock Helm reject",
		"Use the depends-on.helm.sh/ form.",
	}
	unknownKey = Rule{
		"unknown-key", Error, "a key is similar to a known key",
		"Use the intended key.",
	}
)

// Rules about the order of layers, subcharts and resources.
var (
	dependencyCycle = Rule{
		"dependency-cycle", Error, "layers or subcharts depend on each other in a cycle",
		"Remove one of the dependencies.",
	}
	duplicateObject = Rule{
		"duplicate-object", Error, "two documents define the same object",
		"Rename or remove one of them.",
	}
	invalidLayerName = Rule{
		"invalid-layer-name", Error, "the name of a layer is too long, or contains whitespace, commas or control characters",
		"Use a short name, as for a Kubernetes object.",
	}
	lateRoleBinding = Rule{
		"late-role-binding", Warning, "a role binding is deployed after the workload whose service account it grants permissions to",
		"Put it into the layer of the workload, or into an earlier one.",
	}
	layerUnreached = Rule{
		"layer-unreached", Info, "a layer has no dependencies and no dependents",
		"Name it in depends-on.helm.sh/layers of the resources that depend on it, or remove the layer.",
	}
	selfDependency = Rule{
		"self-dependency", Error, "a layer or a dependency depends on itself",
		"Remove that dependency.",
	}
	sequencingNotEnabled = Rule{
		"sequencing-not-enabled", Error, "a chart with an apiVersion before v3 declares an order without enabling it",
		`Add the annotation helm.sh/sequencing to Chart.yaml: "enabled" or, if the order is not to be used, "disabled".`,
	}
	unknownLayer = Rule{
		"unknown-layer", Warning, "a resource depends on a layer that does not exist in its chart",
		"Correct the name, or add a resource to that layer.",
	}
	unknownSubchart = Rule{
		"unknown-subchart", Error, "a chart depends on a subchart that it does not declare",
		"Correct the name, or add the subchart to the dependencies.",
	}
	unmeetableNeed = Rule{
		"unmeetable-need", Error, "a resource refers to an object that the order deploys later",
		"Put the object into the same layer, or into an earlier one.",
	}
)

// Rules about readiness.
var (
	customReadiness = Rule{
		"custom-resource-readiness", Warning, "a custom resource with dependents does not say when it is ready",
		`Add helm.sh/readiness-success, such as {.conditions[?(@.type=="Ready")].status} == True.`,
	}
	expressionPath = Rule{
		"expression-path", Warning, "the path of a readiness expression begins with status, although it is relative to status",
		"Remove the leading status.",
	}
	malformedDuration = Rule{
		"malformed-duration", Error, "a readiness timeout is not a duration",
		`Use a number with a unit, such as "30s" or "5m".`,
	}
	malformedExpression = Rule{
		"malformed-expression", Error, "a readiness expression cannot be parsed",
		"Use a path, an operator and a value, as in {.succeeded} >= 1.",
	}
	readinessTimeoutLong = Rule{
		"readiness-timeout-too-long", Warning, "a readiness timeout is longer than the default timeout of a whole operation",
		"Lower it, or tell users of the chart to increase --timeout.",
	}
	waitForFirstConsumer = Rule{
		"wait-for-first-consumer", Warning, "a PersistentVolumeClaim must be ready before the pod that triggers its binding",
		"Put the claim into the layer of the pod that uses it, or remove its readiness expression.",
	}
)

// Rules about hooks.
var (
	hookSequencing = Rule{
		"hook-sequencing", Warning, "a hook has sequencing annotations, which are ignored for hooks",
		"Order hooks with helm.sh/hook-weight, or turn the hook into an ordinary resource in a layer.",
	}
	invalidHook = Rule{
		"invalid-hook", Error, "an annotation of a hook has an invalid value",
		"Correct or remove the annotation.",
	}
	invalidHookMode = Rule{
		"invalid-hook-mode", Error, "runHooksInParallel has an unknown value",
		"Use true, false or otherChartsOnly.",
	}
)

// Rules about Chart.yaml of the format helm.sh/v3.
var (
	invalidChartField = Rule{
		"invalid-chart-field", Error, "a field of a chart of the format helm.sh/v3 is invalid, missing or in the wrong place",
		"Correct it: docs/reference.md lists the fields of the format.",
	}
	nonCanonicalChart = Rule{
		"non-canonical-chart", Info, "Kubernetes does not accept a Chart.yaml of the format helm.sh/v3 as an object",
		"Correct it if the Chart.yaml is to be stored in a cluster. Helm can load the chart as it is.",
	}
	removedChartField = Rule{
		"removed-chart-field", Warning, "a field was removed from the format helm.sh/v3 and has no effect",
		"Remove it.",
	}
)

// Rules about libraries.
var (
	libraryText = Rule{
		"library-text", Warning, "a template of a library contains something outside of named templates, which is ignored",
		"Move it into a define, or remove it.",
	}
	ordinaryLibrary = Rule{
		"ordinary-library", Warning, "a chart is used as a library, but is not a library chart",
		"Set the type of the chart to library, if it contains nothing but named templates. Nothing else of it is used.",
	}
)

// Rules about the schema of values.
var (
	conflictingSchemas = Rule{
		"conflicting-values-schemas", Error, "values.schema.yaml and values.schema.json differ",
		"Remove one of the files.",
	}
	invalidSchema = Rule{
		"invalid-values-schema", Error, "values.schema.yaml is not a JSON Schema",
		"Correct it, or write a new one with \"helm schema\".",
	}
	schemaReference = Rule{
		"values-schema-reference", Error, "values.schema.yaml refers to something outside the chart",
		"Copy it into the chart.",
	}
)

// Rules returns all rules of this package, sorted by name.
func Rules() []Rule {
	return []Rule{
		annotationNotString, conflictingSpellings, conflictingSchemas, customReadiness, dependencyCycle,
		duplicateObject, expressionPath, hookSequencing, invalidChartField, invalidHook, invalidHookMode,
		invalidLayerName, invalidSchema, lateRoleBinding, layerUnreached, libraryText, malformedDuration, malformedExpression,
		malformedValue, misplacedKey, nonCanonicalChart, ordinaryLibrary, readinessTimeoutLong, removedChartField, selfDependency, sequencingNotEnabled,
		twoSlashKey, unknownKey, unknownLayer, unknownSubchart, unmeetableNeed,
		schemaReference, waitForFirstConsumer,
	}
}
