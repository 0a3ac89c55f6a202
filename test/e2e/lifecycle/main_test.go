// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package lifecycle proves what upgrades, rollbacks, atomic operations and uninstalls leave
// in the cluster and in the stored release.
package lifecycle

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
