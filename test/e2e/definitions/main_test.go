// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package definitions tests what operations do with the CustomResourceDefinitions in the crds/
// directories of charts (--crds). Package hooks tests those that are crd-install hooks.
package definitions

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
