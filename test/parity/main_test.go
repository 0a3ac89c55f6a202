// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

// parallelScenarios is the number of scenarios that run in parallel. It is higher than the
// number of CPUs, because scenarios mostly wait for the cluster.
const parallelScenarios = "6"

func TestMain(m *testing.M) {
	flag.Parse()
	parallelGiven := false
	flag.Visit(func(f *flag.Flag) { parallelGiven = parallelGiven || f.Name == "test.parallel" })
	if !parallelGiven {
		if err := flag.Set("test.parallel", parallelScenarios); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	cluster.Main(m)
}
