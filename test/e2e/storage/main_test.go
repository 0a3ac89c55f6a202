// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package storage tests the storage drivers of Ordered Helm on a real cluster: releases as objects.
package storage

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
