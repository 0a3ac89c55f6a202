// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package recreate tests that objects are deleted and created again (docs/reference.md, "Objects that cannot be changed in
// place").
package recreate

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
