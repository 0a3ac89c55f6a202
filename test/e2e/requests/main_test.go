// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package requests proves how many requests a release takes, and with which permissions its
// resources are watched.
package requests

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
