// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package readiness proves when a resource of each kind counts as ready or failed, and what
// Helm prints about a resource that is not ready.
package readiness

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
