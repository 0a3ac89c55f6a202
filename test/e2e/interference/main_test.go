// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package interference tests operations while other clients change the cluster: they run other
// operations, change or delete objects, CRDs, the namespace and permissions, set quotas, and
// serve admission webhooks.
package interference

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
