// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package lifecycle tests what upgrades, rollbacks, uninstalls, and operations with --atomic
// or --cleanup-on-fail leave in the cluster and in the stored release.
package lifecycle

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
