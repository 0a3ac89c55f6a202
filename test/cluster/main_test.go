// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// childEnv makes this test binary start a cluster and wait to be killed, instead of running
// tests.
const childEnv = "CLUSTER_TEST_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		runChild(dir)
	}
	Main(m)
}

// runChild starts a cluster in dir, reports that, and never ends by itself.
func runChild(dir string) {
	c, err := start(context.Background(), Options{Dir: dir})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(c.Dir())
	select {}
}
