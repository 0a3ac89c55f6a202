// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package interop proves that stock Helm, the SDK and every storage driver share the same
// releases.
package interop

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
