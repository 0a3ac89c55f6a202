// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package faults proves that releases survive an API server that fails, and processes that
// are killed at any time.
package faults

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
