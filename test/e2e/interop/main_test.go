// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package interop tests that Ordered Helm, stock Helm and programs that use either Go packages
// can work on the same releases, with every storage driver.
package interop

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
