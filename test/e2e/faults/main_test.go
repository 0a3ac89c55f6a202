// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package faults tests operations on releases while the API server fails: it rejects requests,
// drops connections, ends watches, or is unavailable.
package faults

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
