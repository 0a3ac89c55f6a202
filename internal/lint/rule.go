// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import "helm.sh/helm/v3/pkg/lint/support"

// Severity is how bad a finding is, by Helm's scale.
type Severity int

const (
	// Info is what works here and does not elsewhere, or what may be meant so.
	Info Severity = support.InfoSev
	// Warning is what does not do what it most likely was meant to.
	Warning Severity = support.WarningSev
	// Error is what keeps the chart from being installed in order.
	Error Severity = support.ErrorSev
)

// String is the word that reports have for it: "info", "warning" or "error".
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

// Rule is one thing that charts are checked for, beyond Helm's rules
// (docs/lint.md).
type Rule struct {
	Name string
	// Severity is that of its findings, where these do not have another one.
	Severity Severity
	// Summary says what it finds, and Help what to do about it.
	Summary, Help string
}

// The rules, by name.
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

// Rules lists the rules by name.
func Rules() []Rule {
	return []Rule{
		{
			annotationNotString, Error, "an annotation has a value that is no string",
			"Quote numbers and booleans; write lists and maps as a JSON string.",
		},
		{
			conflictingSpellings, Error, "two spellings of one meaning contradict each other",
			"Keep one of the two.",
		},
		{
			customReadiness, Warning, "a custom resource on which something depends does not say when it is ready",
			`Add helm.sh/readiness-success, such as {.conditions[?(@.type=="Ready")].status} == True.`,
		},
		{
			dependencyCycle, Error, "layers or subcharts wait for each other",
			"Take one of the dependencies out.",
		},
		{
			duplicateObject, Error, "two documents describe one object",
			"Drop one of them, or give it another name.",
		},
		{
			expressionPath, Warning, "the path of a readiness expression begins with status, where it begins anyway",
			"Leave the first status out.",
		},
		{
			hookSequencing, Warning, "a hook has sequencing annotations, which do not count for hooks",
			"Order hooks by helm.sh/hook-weight, or make the hook an ordinary resource in a layer.",
		},
		{
			invalidHook, Error, "the annotations of a hook cannot mean anything",
			"Mend or drop the annotation.",
		},
		{
			invalidHookMode, Error, "runHooksInParallel has a value that is not known",
			"Write true, false or otherChartsOnly.",
		},
		{
			invalidLayerName, Error, "the name of a layer is too long, or has whitespace, commas or control characters in it",
			"Use a short name, as for a Kubernetes object.",
		},
		{
			lateRoleBinding, Warning, "a role binding is deployed only after the workload whose account it serves",
			"Give it the workload's layer, or an earlier one.",
		},
		{
			layerUnreached, Info, "a layer neither depends on anything nor does anything depend on it",
			"Name it in depends-on.helm.sh/layers of what needs it, or leave the layer out.",
		},
		{
			malformedDuration, Error, "a readiness timeout is no duration",
			`Write a number with a unit, such as "30s" or "5m".`,
		},
		{
			malformedExpression, Error, "a readiness expression cannot be read",
			"Write a path, an operator and a value, as in {.succeeded} >= 1.",
		},
		{
			malformedValue, Error, "a value is of a type or form that means nothing",
			"Write a list of strings, a JSON list in a string, or a plain string.",
		},
		{
			misplacedKey, Error, "a key has no effect where it stands",
			"Subcharts and hook modes belong into Chart.yaml, layers and readiness into templates.",
		},
		{
			readinessTimeoutLong, Warning, "a readiness timeout is longer than a whole operation may take by default",
			"Lower it, or tell users of the chart to raise --timeout.",
		},
		{
			selfDependency, Error, "a layer or a dependency depends on itself",
			"Take that dependency out.",
		},
		{
			sequencingNotEnabled, Warning, "a chart below apiVersion v3 declares an order without opting in",
			`Set apiVersion: v3, or add the annotation helm.sh/sequencing: "enabled" to Chart.yaml.`,
		},
		{
			twoSlashKey, Info, "an annotation has a key with two slashes, which Kubernetes and stock Helm refuse",
			"Use the spelling with depends-on.helm.sh/.",
		},
		{
			unknownKey, Error, "a key is almost one that has a meaning",
			"Write the key that was meant.",
		},
		{
			unknownLayer, Warning, "a resource depends on a layer that its chart does not have",
			"Correct the name, or put a resource into that layer.",
		},
		{
			unknownSubchart, Error, "a chart names a subchart that it does not declare",
			"Correct the name, or add it to the dependencies.",
		},
		{
			unmeetableNeed, Error, "a resource needs an object that the order only deploys later",
			"Put the object into the same layer, or into an earlier one.",
		},
		{
			waitForFirstConsumer, Warning, "a claim is waited for that is only bound once its pod comes, which comes later",
			"Put the claim into the layer of the pod that uses it, or leave its readiness expression out.",
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
