// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import "helm.sh/helm/v3/pkg/lint/support"

// Severity says how serious a finding is. The values are those of Helm's package support.
type Severity int

const (
	// Info is for something that works with Ordered Helm but not elsewhere, or that may be
	// intended.
	Info Severity = support.InfoSev
	// Warning is for something that probably does not have the intended effect.
	Warning Severity = support.WarningSev
	// Error is for something that prevents the chart from being installed in order.
	Error Severity = support.ErrorSev
)

// String returns "info", "warning" or "error".
func (s Severity) String() string {
	switch s {
	case Info:
		return "info"
	case Warning:
		return "warning"
	case Error:
		return "error"
	}
	return "unknown"
}

// Rule describes a check that Helm does not have (docs/lint.md).
type Rule struct {
	Name string
	// Severity is the severity of its findings, unless a finding has another one.
	Severity Severity
	// Summary says what the rule reports, and Help how to correct it.
	Summary, Help string
}

// These are the names of the rules.
const (
	annotationNotString  = "annotation-not-string"
	conflictingSpellings = "conflicting-spellings"
	customReadiness      = "custom-resource-readiness"
	dependencyCycle      = "dependency-cycle"
	duplicateObject      = "duplicate-object"
	expressionPath       = "expression-path"
	hookSequencing       = "hook-sequencing"
	invalidHook          = "invalid-hook"
	invalidHookMode      = "invalid-hook-mode"
	invalidLayerName     = "invalid-layer-name"
	lateRoleBinding      = "late-role-binding"
	layerUnreached       = "layer-unreached"
	malformedDuration    = "malformed-duration"
	malformedExpression  = "malformed-expression"
	malformedValue       = "malformed-value"
	misplacedKey         = "misplaced-key"
	readinessTimeoutLong = "readiness-timeout-too-long"
	selfDependency       = "self-dependency"
	sequencingNotEnabled = "sequencing-not-enabled"
	twoSlashKey          = "two-slash-key"
	unknownKey           = "unknown-key"
	unknownLayer         = "unknown-layer"
	unknownSubchart      = "unknown-subchart"
	unmeetableNeed       = "unmeetable-need"
	waitForFirstConsumer = "wait-for-first-consumer"
)

// Rules returns all rules, sorted by name.
func Rules() []Rule {
	return []Rule{
		{
			annotationNotString, Error, "an annotation has a value that is not a string",
			"Quote numbers and booleans; write lists and maps as a JSON string.",
		},
		{
			conflictingSpellings, Error, "two spellings of the same setting contradict each other",
			"Keep one of the two.",
		},
		{
			customReadiness, Warning, "a custom resource with dependents does not say when it is ready",
			`Add helm.sh/readiness-success, such as {.conditions[?(@.type=="Ready")].status} == True.`,
		},
		{
			dependencyCycle, Error, "layers or subcharts depend on each other in a cycle",
			"Remove one of the dependencies.",
		},
		{
			duplicateObject, Error, "two documents define the same object",
			"Rename or remove one of them.",
		},
		{
			expressionPath, Warning, "the path of a readiness expression begins with status, although it is relative to status",
			"Remove the leading status.",
		},
		{
			hookSequencing, Warning, "a hook has sequencing annotations, which are ignored for hooks",
			"Order hooks with helm.sh/hook-weight, or turn the hook into an ordinary resource in a layer.",
		},
		{
			invalidHook, Error, "an annotation of a hook has an invalid value",
			"Correct or remove the annotation.",
		},
		{
			invalidHookMode, Error, "runHooksInParallel has an unknown value",
			"Use true, false or otherChartsOnly.",
		},
		{
			invalidLayerName, Error, "the name of a layer is too long, or contains whitespace, commas or control characters",
			"Use a short name, as for a Kubernetes object.",
		},
		{
			lateRoleBinding, Warning, "a role binding is deployed after the workload whose service account it binds",
			"Put it into the layer of the workload, or into an earlier one.",
		},
		{
			layerUnreached, Info, "a layer has no dependencies and no dependents",
			"Name it in depends-on.helm.sh/layers of the resources that need it, or remove the layer.",
		},
		{
			malformedDuration, Error, "a readiness timeout is not a duration",
			`Use a number with a unit, such as "30s" or "5m".`,
		},
		{
			malformedExpression, Error, "a readiness expression cannot be parsed",
			"Use a path, an operator and a value, as in {.succeeded} >= 1.",
		},
		{
			malformedValue, Error, "a value has an invalid type or format",
			"Use a list of strings, a JSON list in a string, or a plain string.",
		},
		{
			misplacedKey, Error, "a key has no effect in its place",
			"Subchart dependencies and hook modes belong in Chart.yaml; layers and readiness belong in templates.",
		},
		{
			readinessTimeoutLong, Warning, "a readiness timeout is longer than the default timeout of a whole operation",
			"Lower it, or tell users of the chart to raise --timeout.",
		},
		{
			selfDependency, Error, "a layer or a dependency depends on itself",
			"Remove that dependency.",
		},
		{
			sequencingNotEnabled, Warning, "a chart with an apiVersion before v3 declares an order without enabling it",
			`Set apiVersion: v3, or add the annotation helm.sh/sequencing: "enabled" to Chart.yaml.`,
		},
		{
			twoSlashKey, Info, "an annotation has a key with two slashes, which Kubernetes and stock Helm reject",
			"Use the spelling with depends-on.helm.sh/.",
		},
		{
			unknownKey, Error, "a key is similar to a known key",
			"Use the intended key.",
		},
		{
			unknownLayer, Warning, "a resource depends on a layer that does not exist in its chart",
			"Correct the name, or add a resource to that layer.",
		},
		{
			unknownSubchart, Error, "a chart depends on a subchart that it does not declare",
			"Correct the name, or add the subchart to the dependencies.",
		},
		{
			unmeetableNeed, Error, "a resource needs an object that the order deploys later",
			"Put the object into the same layer, or into an earlier one.",
		},
		{
			waitForFirstConsumer, Warning, "a claim is waited for before the pod that causes it to be bound",
			"Put the claim into the layer of the pod that uses it, or remove its readiness expression.",
		},
	}
}

func ruleNamed(name string) Rule {
	for _, r := range Rules() {
		if r.Name == name {
			return r
		}
	}
	return Rule{Name: name, Severity: Error}
}
