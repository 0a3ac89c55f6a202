// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// childEnv is an environment variable with the directory of a cluster. If it is set, this test
// binary starts a cluster and waits to be killed, instead of running tests.
const childEnv = "CLUSTER_TEST_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		runChild(dir)
	}
	Main(m)
}

// runChild starts a cluster in dir, prints that it is ready, and runs until it is killed.
func runChild(dir string) {
	c, err := start(context.Background(), Options{Dir: dir})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(c.Dir())
	select {}
}
