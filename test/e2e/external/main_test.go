// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package external tests external dependencies (docs/reference.md, "External dependencies"). The order is read from
// the audit log of the API server.
package external

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
