// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package drift tests how the SDK corrects drift on a real cluster: what it re-applies and in
// which order, what it leaves as it is, and what it does if another operation begins meanwhile. Lists in
// the comments of tests quote sentences of docs/reference.md that they check.
package drift

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
