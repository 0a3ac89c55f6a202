// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package orderfiles tests order files (docs/reference.md, "Order files"). The order is read from the audit log of
// the API server.
package orderfiles

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
