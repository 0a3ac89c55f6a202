// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package parity compares Ordered Helm with stock Helm. Its tests run bin/helm and
// bin/stock-helm with the same arguments and the same input, each in its own sandbox (a home,
// a directory and a namespace), and compare all results: output, exit codes, files, objects on
// the API server and stored releases.
//
// The results of stock Helm are recorded, and later runs compare ours with the recording (see
// recording_test.go). Stock Helm runs only if there is no valid recording, or if our results
// differ from it. PARITY_FRESH=1 always runs both. A scenario whose input changes with each
// run, such as the port of a server that several scenarios share, has no valid recording.
//
// A scenario is a list of steps; most steps are one run of helm. To add a scenario, append
// it to a table in one of the scenarios_*_test.go files. Intentional differences are listed
// in docs/differences.md. The rules in normalize_test.go normalize what differs from run to
// run, each with its reason.
package parity
