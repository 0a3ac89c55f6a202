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

// shared contains the cluster that the tests of this process share. It is a package variable
// because TestMain cannot pass values to tests.
var shared struct {
	mu      sync.Mutex
	tried   bool
	cluster *Cluster
	err     error
}

// Shared returns the cluster that all tests of this process share. The first call starts it.
// The package's TestMain must call Main. Each test must use its own namespaces.
func Shared(tb testing.TB) *Cluster {
	tb.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if !shared.tried {
		shared.tried = true
		// The cluster outlives the test, so its context must not end with the test's.
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

// Main runs the tests of a package, stops the shared cluster if it was started, calls the
// functions in atEnd, and exits. TestMain must call it.
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
