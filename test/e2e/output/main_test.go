// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package output proves what operations print: the live view in a terminal, plans, and
// progress that nobody reads.
package output

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
