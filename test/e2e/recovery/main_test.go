// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package recovery proves how a release is locked, and how the next operation takes it over
// after an operation that was killed or interrupted.
package recovery

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
