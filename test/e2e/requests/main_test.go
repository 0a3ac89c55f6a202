// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package requests tests how many requests Helm sends to the API server for a release, and
// which permissions it needs to watch resources.
package requests

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
