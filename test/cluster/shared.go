// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
)

// shared is the cluster of this test process. It is a variable because a testing.M cannot
// pass it to the tests.
var shared struct {
	mu      sync.Mutex
	tried   bool
	cluster *Cluster
	err     error
}

// Shared returns the cluster that all tests of this process share, and starts it for the
// first of them. The process's TestMain must call Main. Each test must use its own
// namespaces.
func Shared(tb testing.TB) *Cluster {
	tb.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if !shared.tried {
		shared.tried = true
		// The test's context is not used, because the cluster outlives the test.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), startTimeout)
		defer cancel()
		shared.cluster, shared.err = openOrStart(ctx)
	}
	if shared.err != nil {
		tb.Fatal(shared.err)
	}
	return shared.cluster
}

func openOrStart(ctx context.Context) (*Cluster, error) {
	dir := os.Getenv(ReuseEnv)
	if dir == "" {
		return start(ctx, Options{})
	}
	c, err := open(dir)
	if err != nil {
		return nil, fmt.Errorf("use the cluster that %s names: %w", ReuseEnv, err)
	}
	return c, nil
}

// Main runs the tests, stops the shared cluster if it was started, calls the atEnd
// functions, and ends the process. It is for TestMain.
func Main(m *testing.M, atEnd ...func() error) {
	code := m.Run()
	for _, do := range append([]func() error{stopShared}, atEnd...) {
		if err := do(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

func stopShared() error {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.cluster == nil {
		return nil
	}
	return shared.cluster.stop()
}
