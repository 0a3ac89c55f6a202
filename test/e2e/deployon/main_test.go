// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package deployon tests resources that take part only in some operations (docs/reference.md, "Resources that take
// part in some operations").
package deployon

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
