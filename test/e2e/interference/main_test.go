// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package interference proves how operations behave if others change the cluster while they
// run: changed objects, missing permissions, quotas and webhooks.
package interference

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
