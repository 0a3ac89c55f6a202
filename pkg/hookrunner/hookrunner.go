// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package hookrunner contains the types that describe in which order the hooks of a release
// run, and which of them run in parallel. action.Plan and action.Preview contain these types
// (docs/reference.md, "Hooks").
package hookrunner

import "github.com/ordered-helm/helm/internal/hookorder"

type (
	// Plan is the order in which the hooks of one event, such as pre-install, run. Its
	// buckets run sequentially.
	Plan = hookorder.Plan
	// Bucket holds the hooks of one event that have the same weight. Its stages run
	// sequentially.
	Bucket = hookorder.Bucket
	// Stage is a part of a bucket. Its chains run in parallel.
	Stage = hookorder.Stage
	// Chain is a list of hooks that run sequentially. A hook that does not have to wait
	// for another hook of its stage is a chain of its own.
	Chain = hookorder.Chain
	// Mode is the value of runHooksInParallel in a Chart.yaml: whether hooks of the chart
	// run in parallel.
	Mode = hookorder.Mode
)

// The values of Mode.
const (
	// Sequential runs the hooks of the chart sequentially, as Helm does.
	Sequential = hookorder.Sequential
	// Parallel runs the hooks of the chart in parallel with each other and with those of
	// other charts, if they have equal weight.
	Parallel = hookorder.Parallel
	// OtherChartsOnly runs the hooks of the chart sequentially, but in parallel with the
	// hooks of other charts.
	OtherChartsOnly = hookorder.OtherChartsOnly
)

// Hook events that Helm 3 does not have (docs/reference.md, "Older annotations").
const (
	// EventCRDInstall is the event of hooks that create CustomResourceDefinitions. They run
	// before any other object of the release is checked or changed.
	EventCRDInstall = hookorder.EventCRDInstall
	// EventTestFailure is the event of a test that passes if its hook fails.
	EventTestFailure = hookorder.EventTestFailure
)
