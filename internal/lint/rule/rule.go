// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package rule lists the lint rules that Helm does not have (docs/lint.md).
package rule

// The severities of findings.
const (
	// Info is for something that works with Ordered Helm but not with other tools, or that
	// is unusual but may be intended.
	Info = "info"
	// Warning is for something that probably does not have the intended effect.
	Warning = "warning"
	// Error is for something that prevents the chart from being installed in order.
	Error = "error"
)

// Rule describes a lint rule.
type Rule struct {
	// Name is the name of the rule, as in the findings.
	Name string
	// Severity is the usual severity of the findings: Error, Warning or Info.
	Severity string
	// Summary says what the rule reports, and Help how to correct it.
	Summary, Help string
}

// Rules about the form of keys and values, in Chart.yaml and in templates.
var (
	AnnotationNotString = Rule{
		"annotation-not-string", Error, "an annotation has a value that is not a string",
		"Quote numbers and booleans; write lists and maps as a JSON string.",
	}
	ConflictingSpellings = Rule{
		"conflicting-spellings", Error, "two keys for the same setting contradict each other",
		"Keep one of the two.",
	}
	MalformedValue = Rule{
		"malformed-value", Error, "a value has an invalid type or format",
		"Use a list of strings, a JSON list in a string, or a plain string.",
	}
	MisplacedKey = Rule{
		"misplaced-key", Error, "a key has no effect in its place",
		"Subchart dependencies and hook modes belong in Chart.yaml; layers and readiness belong in templates.",
	}
	TwoSlashKey = Rule{
		"two-slash-key", Info, "an annotation has a key with two slashes, which Kubernetes and stock Helm reject",
		"Use the depends-on.helm.sh/ form.",
	}
	UnknownKey = Rule{
		"unknown-key", Error, "a key is similar to a known key",
		"Use the intended key.",
	}
)

// Rules about the order of layers, subcharts and resources.
var (
	DependencyCycle = Rule{
		"dependency-cycle", Error, "layers or subcharts depend on each other in a cycle",
		"Remove one of the dependencies.",
	}
	DuplicateObject = Rule{
		"duplicate-object", Error, "two documents define the same object",
		"Rename or remove one of them.",
	}
	InvalidLayerName = Rule{
		"invalid-layer-name", Error, "the name of a layer is too long, or contains whitespace, commas or control characters",
		"Use a short name, as for a Kubernetes object.",
	}
	LateRoleBinding = Rule{
		"late-role-binding", Warning, "a role binding is deployed after the workload whose service account it grants permissions to",
		"Put it into the layer of the workload, or into an earlier one.",
	}
	LayerUnreached = Rule{
		"layer-unreached", Info, "a layer has no dependencies and no dependents",
		"Name it in depends-on.helm.sh/layers of the resources that depend on it, or remove the layer.",
	}
	SelfDependency = Rule{
		"self-dependency", Error, "a layer or a dependency depends on itself",
		"Remove that dependency.",
	}
	SequencingNotEnabled = Rule{
		"sequencing-not-enabled", Error, "a chart with an apiVersion before v3 declares an order without enabling it",
		`Add the annotation helm.sh/sequencing to Chart.yaml: "enabled" or, if the order is not to be used, "disabled".`,
	}
	UnknownLayer = Rule{
		"unknown-layer", Warning, "a resource depends on a layer that does not exist in its chart",
		"Correct the name, or add a resource to that layer.",
	}
	UnknownSubchart = Rule{
		"unknown-subchart", Error, "a chart depends on a subchart that it does not declare",
		"Correct the name, or add the subchart to the dependencies.",
	}
	UnmeetableNeed = Rule{
		"unmeetable-need", Error, "a resource refers to an object that the order deploys later",
		"Put the object into the same layer, or into an earlier one.",
	}
)

// Rules about order files and external dependencies.
var (
	ExternalTimeoutLong = Rule{
		"external-timeout-too-long", Warning, "a timeout of external dependencies is longer than the default timeout of a whole operation",
		"Lower it, or tell users of the chart to increase --timeout.",
	}
	FixedExternalDependency = Rule{
		"fixed-external-dependency", Info, "a chart depends on a certain release, or on an object in a certain namespace, outside of the release",
		"Let a template read the name and the namespace from values, or leave the dependency to an order file of the user (--order).",
	}
	IgnoredOrderFile = Rule{
		"ignored-order-file", Warning, ".helmignore excludes the order file of a chart",
		"Correct .helmignore, or remove the file.",
	}
	InvalidExternalDependency = Rule{
		"invalid-external-dependency", Error, "an external dependency has an invalid form, or is part of the release itself",
		"Write KIND[.GROUP]/[NAMESPACE/]NAME or release:[NAMESPACE/]NAME. Within the release, use layers.",
	}
	InvalidOrderFile = Rule{
		"invalid-order-file", Error, "an order file is invalid",
		"Correct the file: docs/reference.md describes its fields.",
	}
	UnmatchedOrderRule = Rule{
		"unmatched-order-rule", Warning, "a rule of an order file matches no chart or resource",
		"Correct the path or the match of the rule, or remove the rule.",
	}
)

// Rules about readiness, and about changes that are impossible.
var (
	CustomReadiness = Rule{
		"custom-resource-readiness", Warning, "a custom resource with dependents does not say when it is ready",
		`Add helm.sh/readiness-success, such as {.conditions[?(@.type=="Ready")].status} == True.`,
	}
	ExpressionPath = Rule{
		"expression-path", Warning, "the path of a readiness expression begins with status, although it is relative to status",
		"Remove the leading status.",
	}
	MalformedDuration = Rule{
		"malformed-duration", Error, "a timeout is not a duration",
		`Use a number with a unit, such as "30s" or "5m".`,
	}
	MalformedExpression = Rule{
		"malformed-expression", Error, "a readiness expression cannot be parsed",
		"Use a path, an operator and a value, as in {.succeeded} >= 1.",
	}
	InvalidOnImmutable = Rule{
		"invalid-on-immutable", Error, "helm.sh/on-immutable has an unknown value, or a resource cannot declare it",
		"Use recreate, for a Job, a Pod, or a ConfigMap or Secret with immutable: true. For others, users have --recreate.",
	}
	ReadinessTimeoutLong = Rule{
		"readiness-timeout-too-long", Warning, "a readiness timeout is longer than the default timeout of a whole operation",
		"Lower it, or tell users of the chart to increase --timeout.",
	}
	WaitForFirstConsumer = Rule{
		"wait-for-first-consumer", Warning, "a PersistentVolumeClaim must be ready before the pod that triggers its binding",
		"Put the claim into the layer of the pod that uses it, or remove its readiness expression.",
	}
)

// Rules about hooks.
var (
	HookSequencing = Rule{
		"hook-sequencing", Warning, "a hook has sequencing annotations, which are ignored for hooks",
		"Order hooks with helm.sh/hook-weight, or turn the hook into an ordinary resource in a layer.",
	}
	InvalidHook = Rule{
		"invalid-hook", Error, "an annotation of a hook has an invalid value",
		"Correct or remove the annotation.",
	}
	InvalidHookMode = Rule{
		"invalid-hook-mode", Error, "runHooksInParallel has an unknown value",
		"Use true, false or otherChartsOnly.",
	}
	InvalidHookScope = Rule{
		"invalid-hook-scope", Error, "hookScope has an unknown value",
		"Use chart or release.",
	}
	LateHook = Rule{
		"late-hook", Info, "a post- hook of a subchart runs only after the charts that depend on the subchart",
		"Set hookScope: chart for the subchart, in its Chart.yaml, in its entry of dependencies, or in an order file.",
	}
)

// Rules about Chart.yaml of the format helm.sh/v3.
var (
	InvalidChartField = Rule{
		"invalid-chart-field", Error, "a field of a chart of the format helm.sh/v3 is invalid, missing or in the wrong place",
		"Correct it: docs/reference.md lists the fields of the format.",
	}
	NonCanonicalChart = Rule{
		"non-canonical-chart", Info, "Kubernetes does not accept a Chart.yaml of the format helm.sh/v3 as an object",
		"Correct it if the Chart.yaml is to be stored in a cluster. Helm can load the chart as it is.",
	}
	RemovedChartField = Rule{
		"removed-chart-field", Warning, "a field was removed from the format helm.sh/v3 and has no effect",
		"Remove it.",
	}
)

// Rules about libraries.
var (
	LibraryText = Rule{
		"library-text", Warning, "a template of a library contains something outside of named templates, which is ignored",
		"Move it into a define, or remove it.",
	}
	ApplicationAsLibrary = Rule{
		"application-as-library", Warning, "a chart is used as a library, but is not a library chart",
		"Set the type of the chart to library, if it contains nothing but named templates. Nothing else of it is used.",
	}
)

// Rules about the schema of values.
var (
	ConflictingSchemas = Rule{
		"conflicting-values-schemas", Error, "values.schema.yaml and values.schema.json differ",
		"Remove one of the files.",
	}
	InvalidSchema = Rule{
		"invalid-values-schema", Error, "values.schema.yaml is not a JSON Schema",
		"Correct it, or write a new one with \"helm schema\".",
	}
	SchemaReference = Rule{
		"values-schema-reference", Error, "values.schema.yaml refers to something outside the chart",
		"Copy it into the chart.",
	}
)

// Rules about scripts.
var (
	FailedHandler = Rule{
		"failed-script-handler", Error, "a handler fails while the chart is rendered",
		"Correct the script, or the values that it rejects.",
	}
	IgnoredScriptFile = Rule{
		"ignored-script-file", Warning, ".helmignore excludes a script, or the permissions for which it asks",
		"Correct .helmignore, or move the file out of ext.",
	}
	InvalidScript = Rule{
		"invalid-script", Error, "a script cannot be loaded",
		"Correct the script.",
	}
	InvalidPermissions = Rule{
		"invalid-script-permissions", Error, "ext/permissions.yaml is not a list of permissions",
		"Write \"lua: [network]\", with the permissions that the scripts need.",
	}
	IgnoredHandler = Rule{
		"ignored-script-handler", Warning, "a script registers a handler that is never called",
		"Move it to the chart that uses the library.",
	}
	PermissionNotRequested = Rule{
		"script-permission-not-requested", Warning, "a script uses something for which its chart does not ask",
		"Name the permission in ext/permissions.yaml.",
	}
	ScriptsNotEnabled = Rule{
		"scripts-not-enabled", Warning, "a flat chart contains scripts that do not run",
		`Add the annotation helm.sh/scripts to Chart.yaml: "enabled" or, if the scripts are not to run, "disabled".`,
	}
	ScriptsNotRun = Rule{
		"scripts-not-run", Info, "scripts ask for permissions, so they do not run",
		"Read the scripts (helm show scripts), and accept the permissions with --accept-perms or --yes.",
	}
	UnusedPermission = Rule{
		"unused-script-permission", Info, "a chart asks for a permission that no script uses",
		"Remove it from ext/permissions.yaml.",
	}
)

// All returns all rules, sorted by name.
func All() []Rule {
	return []Rule{
		AnnotationNotString, ApplicationAsLibrary, ConflictingSpellings, ConflictingSchemas, CustomReadiness, DependencyCycle,
		DuplicateObject, ExpressionPath, ExternalTimeoutLong, FailedHandler, FixedExternalDependency, HookSequencing, IgnoredOrderFile, IgnoredScriptFile, IgnoredHandler,
		InvalidChartField, InvalidExternalDependency, InvalidHook, InvalidHookMode, InvalidHookScope,
		InvalidLayerName, InvalidOnImmutable, InvalidOrderFile, InvalidScript, InvalidPermissions, InvalidSchema, LateHook, LateRoleBinding, LayerUnreached, LibraryText, MalformedDuration, MalformedExpression,
		MalformedValue, MisplacedKey, NonCanonicalChart, ReadinessTimeoutLong, RemovedChartField, PermissionNotRequested, ScriptsNotEnabled, ScriptsNotRun, SelfDependency, SequencingNotEnabled,
		TwoSlashKey, UnknownKey, UnknownLayer, UnknownSubchart, UnmatchedOrderRule, UnmeetableNeed, UnusedPermission,
		SchemaReference, WaitForFirstConsumer,
	}
}
