// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package hookrunner contains the types that describe which hooks of a release run one
// after the other, and which run in parallel. action.Plan and action.Preview contain these
// types (docs/reference.md, "Hooks").
package hookrunner

import "github.com/ordered-helm/helm/internal/hookrunner"

type (
	// Plan is the order in which the hooks of one event, such as pre-install, run: bucket
	// after bucket.
	Plan = hookrunner.Plan
	// Bucket contains the hooks that have the same weight. Its stages run one after the
	// other.
	Bucket = hookrunner.Bucket
	// Stage is a part of a bucket. Its chains run in parallel.
	Stage = hookrunner.Stage
	// Chain is a list of hooks that run one after the other. A hook that does not have to
	// wait for another hook of its stage is a chain of its own.
	Chain = hookrunner.Chain
	// Mode is the value of runHooksInParallel in a Chart.yaml.
	Mode = hookrunner.Mode
)

// The values of Mode.
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
	// EventCRDInstall is the event of hooks that create CustomResourceDefinitions. They run
	// before any other object of the release is checked or changed.
	EventCRDInstall = hookrunner.EventCRDInstall
	// EventTestFailure is the event of a test that passes if its hook fails.
	EventTestFailure = hookrunner.EventTestFailure
)
