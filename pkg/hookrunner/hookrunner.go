// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package hookrunner contains the types for the order in which the hooks of a release run,
// as returned by action.Plan and action.Preview (docs/reference.md, "Hooks").
package hookrunner

import "github.com/ordered-helm/helm/internal/hookrunner"

type (
	// Plan is how the hooks of one event run: one bucket after the other.
	Plan = hookrunner.Plan
	// Bucket contains the hooks of one weight. Its stages run one after the other.
	Bucket = hookrunner.Bucket
	// Stage contains chains that run in parallel.
	Stage = hookrunner.Stage
	// Chain contains hooks that run one after the other.
	Chain = hookrunner.Chain
	// Mode is the value of runHooksInParallel in a Chart.yaml.
	Mode = hookrunner.Mode
)

// The modes that a chart can choose.
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
	// EventCRDInstall runs its hooks before anything else of a release is checked or
	// changed.
	EventCRDInstall = hookrunner.EventCRDInstall
	// EventTestFailure is for tests that pass if they fail.
	EventTestFailure = hookrunner.EventTestFailure
)
