// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package binaries builds the programs that tests run, Ordered Helm, its controller, stock
// Helm and Helm 4, with make.
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

// Set contains the paths of the programs under test.
type Set struct {
	// Helm is Ordered Helm. Stock is stock Helm of the same version, built with the same
	// linker flags.
	Helm, Stock string
	// Helm4 is unmodified Helm 4.
	Helm4 string
	// Controller is the controller of Ordered Helm.
	Controller string
}

// built builds the programs, once per test process.
var built = sync.OnceValues(build)

// Get builds the programs with make, and returns their paths. It builds them once per
// process, and only one process at a time builds. If the environment variable BINARIES is set,
// it builds nothing, and returns the programs helm, stock-helm, helm4 and helm-controller in that directory.
func Get(tb testing.TB) Set {
	tb.Helper()
	set, err := Build()
	if err != nil {
		tb.Fatal(err)
	}
	return set
}

// Build is like Get, for callers without a test.
func Build() (Set, error) { return built() }

// Root returns the root directory of the repository.
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
	// The build is for all tests of the process, so the end of the first test must not cancel
	// it.
	cmd := exec.Command("make", "-C", root, "build", "stock", "helm4", "controller") //nolint:noctx // see above
	if out, err := cmd.CombinedOutput(); err != nil {
		return Set{}, fmt.Errorf("make build stock helm4 controller: %w\n%s", err, out)
	}
	return in(bin), nil
}

func in(bin string) Set {
	return Set{
		Helm: filepath.Join(bin, "helm"), Stock: filepath.Join(bin, "stock-helm"), Helm4: filepath.Join(bin, "helm4"), Controller: filepath.Join(bin, "helm-controller"),
	}
}
