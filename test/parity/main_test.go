// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/ordered-helm/helm/test/cluster"
)

// parallelScenarios is how many scenarios run side by side. Most of the time
// they wait for the cluster, so there may be more of them than processors.
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

// binaries are the two programs that are compared.
type binaries struct{ ours, stock string }

// built builds both programs once, with the Makefile's flags. PARITY_BIN may
// name a folder that holds them already, as helm and stock-helm.
var built = sync.OnceValues(func() (binaries, error) {
	dir := os.Getenv("PARITY_BIN")
	if dir == "" {
		root, err := filepath.Abs("../..")
		if err != nil {
			return binaries{}, err
		}
		dir = filepath.Join(root, "bin")
		build := exec.Command("make", "-C", root, "build", "stock")
		if out, err := build.CombinedOutput(); err != nil {
			return binaries{}, fmt.Errorf("make build stock: %w\n%s", err, out)
		}
	}
	b := binaries{ours: filepath.Join(dir, "helm"), stock: filepath.Join(dir, "stock-helm")}
	for _, path := range []string{b.ours, b.stock} {
		if _, err := os.Stat(path); err != nil {
			return binaries{}, err
		}
	}
	return b, nil
})
