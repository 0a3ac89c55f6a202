// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package secrets tests that operations do not print the contents of Secrets, and do not store
// them in places other than the manifest of the release.
package secrets

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
