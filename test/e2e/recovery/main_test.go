// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package recovery tests the lock of a release, and how the next operation takes over the
// release after an operation was killed or interrupted.
package recovery

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
