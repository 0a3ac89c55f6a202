// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package umbrella deploys a chart that consists of public charts, which an order file puts in order
// (docs/reference.md, "Order files"). The order is read from the audit log of the API server.
package umbrella

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
