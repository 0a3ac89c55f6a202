// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package random operates on random releases in random ways, and compares the cluster with
// a model after each step.
package random

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
