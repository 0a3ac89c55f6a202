// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package output tests what operations print: the live view in a terminal, plain progress,
// plans, and output that cannot be written.
package output

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
