// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package ordering tests that operations follow the order of layers and subcharts, and that
// charts whose order is invalid are rejected.
package ordering

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
