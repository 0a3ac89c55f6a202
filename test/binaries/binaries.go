// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package binaries builds the programs that tests run, as users build them.
package binaries

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/gofrs/flock"
)

// Set is where the programs are.
type Set struct {
	// Helm is ours, Stock is Helm's own of the same version and link flags.
	Helm, Stock string
}

// What Get has built in this test process.
var (
	once  sync.Mutex
	built *Set
)

// Get builds both programs with make, once in a process and one process at a
// time, and says where they are.
func Get(tb testing.TB) Set {
	tb.Helper()
	once.Lock()
	defer once.Unlock()
	if built != nil {
		return *built
	}
	set, err := build(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	built = &set
	return set
}

// Root is the folder of the repository.
func Root(tb testing.TB) string {
	tb.Helper()
	root, err := root()
	if err != nil {
		tb.Fatal(err)
	}
	return root
}

func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "Makefile")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no folder above the test has a Makefile")
		}
		dir = filepath.Dir(dir)
	}
}

func build(ctx context.Context) (Set, error) {
	root, err := root()
	if err != nil {
		return Set{}, err
	}
	bin := filepath.Join(root, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return Set{}, err
	}
	lock := flock.New(filepath.Join(bin, ".lock"))
	if err := lock.Lock(); err != nil {
		return Set{}, err
	}
	defer func() { _ = lock.Unlock() }()
	cmd := exec.CommandContext(ctx, "make", "-C", root, "build", "stock")
	if out, err := cmd.CombinedOutput(); err != nil {
		return Set{}, fmt.Errorf("make build stock: %w\n%s", err, out)
	}
	return Set{Helm: filepath.Join(bin, "helm"), Stock: filepath.Join(bin, "stock-helm")}, nil
}
