// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package hookrunner is the order in which the hooks of a release run: what
// action.Plan and action.Preview return (docs/reference.md, "Hooks").
package hookrunner

import "github.com/ordered-helm/helm/internal/hookrunner"

type (
	// Plan is how the hooks of one event run: bucket after bucket.
	Plan = hookrunner.Plan
	// Bucket is the hooks of one weight. Its stages run one after the other.
	Bucket = hookrunner.Bucket
	// Stage is chains that run in parallel.
	Stage = hookrunner.Stage
	// Chain is hooks that run one after the other.
	Chain = hookrunner.Chain
	// Mode is the value of runHooksInParallel in a Chart.yaml.
	Mode = hookrunner.Mode
)

// The modes that a chart may choose.
const (
	// Sequential runs hooks of equal weight one after the other, as Helm does.
	Sequential = hookrunner.Sequential
	// Parallel runs all hooks of equal weight in parallel.
	Parallel = hookrunner.Parallel
	// OtherChartsOnly runs the hooks of the chart one after the other, in parallel with
	// the hooks of other charts.
	OtherChartsOnly = hookrunner.OtherChartsOnly
)

// Hook events that Helm 3 does not have (docs/reference.md, "Older annotations").
const (
	// EventCRDInstall comes before anything else of a release is checked or changed.
	EventCRDInstall = hookrunner.EventCRDInstall
	// EventTestFailure is a test that passes when it fails.
	EventTestFailure = hookrunner.EventTestFailure
)
