// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package hookorder tests the order in which hooks run, for each value of runHooksInParallel.
// This value, the hook mode of a chart, is false, otherChartsOnly or true.
//
// The tests write an expected order as a text, which parsePlan defines. Hooks wait for gates,
// which are ConfigMaps that the tests create when a hook may end.
package hookorder

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
