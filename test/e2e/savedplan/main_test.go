// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package savedplan tests plans that are saved and executed later (docs/reference.md, "Saved plans").
package savedplan

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
