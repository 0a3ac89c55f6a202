// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package hookorder proves in which order hooks run, for every mode of running them.
package hookorder

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
