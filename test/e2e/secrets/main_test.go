// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package secrets proves that no operation prints or stores the content of Secrets where it
// does not belong.
package secrets

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
