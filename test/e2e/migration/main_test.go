// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package migration tests that releases are moved from one storage driver to another on a real cluster.
package migration

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
