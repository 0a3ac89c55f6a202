// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package soak operates on many releases from many processes at the same time, for a long
// time, and compares the final state with the server.
package soak

import (
	"os"
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

func TestMain(m *testing.M) {
	if os.Getenv(workerEnv) != "" {
		os.Exit(work(os.Stdin, os.Stdout))
	}
	cluster.Main(m)
}
