// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package parity holds Ordered Helm to stock Helm. Its tests run bin/helm and
// bin/stock-helm with the same words on the same input, each in a home, folder
// and namespace of its own, and compare all that comes of it: output, exit
// codes, files, objects on the API server and stored releases.
//
// What stock showed is recorded, and compared with ours the next time (see
// recording_test.go): stock is only run if the recording does not hold any more,
// or if ours does not agree with it. PARITY_FRESH=1 always runs both. Input that is
// drawn for each run, such as the port of a server that several scenarios share,
// leads to a run of stock each time, if a step shows it.
//
// A scenario is a list of steps; most steps are one run of helm. To add one,
// append it to a table in one of the scenarios_*_test.go files. What differs on
// purpose is listed in docs/differences.md; what differs from run to run is
// normalised by the rules in normalize_test.go, each with its reason.
package parity
