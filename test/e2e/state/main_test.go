// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package state tests releases as Kubernetes objects: their definitions, the command that
// installs them, and the roles for them.
package state

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
