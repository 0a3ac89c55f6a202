// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package hooks tests hooks, above all hooks that run in parallel: their failure,
// cancellation, cleanup, logs and stored results. Package hookorder tests their order.
package hooks

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
