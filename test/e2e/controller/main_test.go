// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller tests helm-controller on a real cluster. Each test has its own controller, which
// works in the namespace of the test with the permissions of the chart. Lists in the comments of tests
// quote sentences of docs/reference.md that they check; test/docs checks that none is missing.
package controller

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
