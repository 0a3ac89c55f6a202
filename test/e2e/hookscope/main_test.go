// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package hookscope tests hooks that run before and after the nodes of their chart (docs/reference.md, "Hooks of a
// chart in its place in the order"). The order is read from the audit log of the API server.
package hookscope

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
