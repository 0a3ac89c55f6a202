// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package largereleases tests releases that do not fit into one Secret, which the storage driver
// chunked-secret stores in several.
package largereleases

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
