// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ordered-helm/helm/test/bench/launch"
	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/cluster"
)

const (
	// kappEnv and nelmEnv contain the paths of the peers' binaries. A peer takes part if
	// its variable is set.
	kappEnv = "KAPP"
	nelmEnv = "NELM"

	// helmAgent is the beginning of the user agent of both Helms.
	helmAgent = "Helm/"
)

// program is a binary with its own home directory, including its cache.
type program struct {
	binary string
	// agent is the beginning of its user agent. The default is the name of the binary.
	agent string
	env   []string
	// launcher is the program that starts it.
	launcher string
}

// ours returns the program under test, with or without a cluster. stock returns Helm.
func ours(b *testing.B, c *cluster.Cluster) program {
	b.Helper()
	return newProgram(b, c, binaries.Get(b).Helm, helmAgent)
}

func stock(b *testing.B, c *cluster.Cluster) program {
	b.Helper()
	return newProgram(b, c, binaries.Get(b).Stock, helmAgent)
}

// peer returns a program that takes part if a variable contains the path of its binary.
func peer(b *testing.B, c *cluster.Cluster, env string) (p program, takesPart bool) {
	b.Helper()
	binary := os.Getenv(env)
	if binary == "" {
		return program{}, false
	}
	return newProgram(b, c, binary, filepath.Base(binary)+"/"), true
}

func newProgram(b *testing.B, c *cluster.Cluster, binary, agent string) program {
	b.Helper()
	env := []string{"HOME=" + b.TempDir(), "PATH=" + os.Getenv("PATH")}
	if c != nil {
		env = append(env, "KUBECONFIG="+c.Kubeconfig())
	}
	launcher, err := launch.Build(b.Context(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	return program{binary: installed(b, binary), agent: agent, env: env, launcher: launcher}
}

// installed copies a binary, as an installation does. The system keeps more memory for a
// file in the form that the linker wrote, and counts it as memory of the program.
func installed(b *testing.B, binary string) string {
	b.Helper()
	content, err := os.ReadFile(binary)
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.TempDir(), filepath.Base(binary))
	if err := os.WriteFile(path, content, 0o700); err != nil { //nolint:gosec // the file is executed
		b.Fatal(err)
	}
	return path
}

// does returns a step that runs the program in the namespace.
func (p program) does(name string, args ...string) step {
	return step{name: name, do: func(ctx context.Context, namespace string) (launch.Usage, error) {
		if namespace != "" {
			args := append([]string{}, args...)
			return p.run(ctx, append(args, "--namespace", namespace)...)
		}
		return p.run(ctx, args...)
	}}
}

func (p program) run(ctx context.Context, args ...string) (launch.Usage, error) {
	cmd := exec.CommandContext(ctx, p.binary, args...)
	cmd.Env = p.env
	return launch.Run(ctx, p.launcher, cmd)
}

// installs installs a chart in order, for benchmarks that measure something else.
func (p program) installs(ctx context.Context, chart, namespace string) (launch.Usage, error) {
	return p.run(ctx, "install", "rel", chart, "--namespace", namespace,
		"--wait=ordered", "--readiness-timeout", "5m", "--timeout", "10m")
}
