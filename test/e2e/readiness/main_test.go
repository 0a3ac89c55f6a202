// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package readiness tests when a resource of each kind counts as ready or failed, and what
// Helm prints about a resource that does not become ready. Most tests are tables of
// readinessCase.
package readiness

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
