// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package luasandbox_test

const raceEnabled = true
