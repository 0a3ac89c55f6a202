// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package random runs random operations on releases of random charts, and compares the cluster
// with a model after each of them: a releaseModel contains what is known about the release, a
// chartGenerator generates its charts, and an operationCheck compares the objects in the
// cluster.
//
// The model describes an object by its fields: texts such as "label a", "data b" or
// "replicas", with their values. fieldsOf returns those of an object in the cluster.
package random

import (
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
