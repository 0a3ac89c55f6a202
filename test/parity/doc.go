// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package parity holds Ordered Helm to stock Helm. Its tests run bin/helm and
// bin/stock-helm with the same words on the same input, each in a home, folder
// and namespace of its own, and compare all that comes of it: output, exit
// codes, files, objects on the API server and stored releases.
//
// A scenario is a list of steps; most steps are one run of helm. To add one,
// append it to a table in one of the scenarios_*_test.go files. What differs on
// purpose is listed in docs/differences.md; what differs from run to run is
// normalised by the rules in normalize_test.go, each with its reason.
package parity
