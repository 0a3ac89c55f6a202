// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package binaries builds the programs that tests run, as users build them.
package binaries

import (
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

// built is the outcome of the one build of a test process.
var built = sync.OnceValues(build)

// Get builds both programs with make, once in a process and one process at a
// time, and says where they are. BINARIES may name a folder that has them, as
// helm and stock-helm; nothing is built then.
func Get(tb testing.TB) Set {
	tb.Helper()
	set, err := Build()
	if err != nil {
		tb.Fatal(err)
	}
	return set
}

// Build is Get for who has no test at hand.
func Build() (Set, error) { return built() }

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

func build() (Set, error) {
	if bin := os.Getenv("BINARIES"); bin != "" {
		return in(bin), nil
	}
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
	// The build belongs to the process, not to the test that happens to ask
	// first: no test's end may cut it off.
	cmd := exec.Command("make", "-C", root, "build", "stock") //nolint:noctx // see above
	if out, err := cmd.CombinedOutput(); err != nil {
		return Set{}, fmt.Errorf("make build stock: %w\n%s", err, out)
	}
	return in(bin), nil
}

func in(bin string) Set {
	return Set{Helm: filepath.Join(bin, "helm"), Stock: filepath.Join(bin, "stock-helm")}
}
