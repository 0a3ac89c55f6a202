// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ordered-helm/helm/test/bench/launch"
	"github.com/ordered-helm/helm/test/bench/report"
	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/cluster"
)

const (
	// kappEnv and nelmEnv are environment variables with the paths of the binaries of kapp and
	// nelm. A tool is measured only if its variable is set.
	kappEnv = "KAPP"
	nelmEnv = "NELM"

	// helmAgent is the prefix of the user agents of all versions of Helm.
	helmAgent = "Helm/"
)

// program is a binary with its own home directory, including its cache.
type program struct {
	binary string
	// agent is the prefix of the user agent of its requests.
	agent string
	env   []string
	// launcher is the path of the program that starts the binary; see package launch.
	launcher string
}

// ours returns Ordered Helm, for the cluster unless c is nil.
func ours(b *testing.B, c *cluster.Cluster) program {
	b.Helper()
	return newProgram(b, c, binaries.Get(b).Helm, helmAgent)
}

// stock returns stock Helm, for the cluster unless c is nil.
func stock(b *testing.B, c *cluster.Cluster) program {
	b.Helper()
	return newProgram(b, c, binaries.Get(b).Stock, helmAgent)
}

// helm4 returns Helm 4, for the cluster unless c is nil.
func helm4(b *testing.B, c *cluster.Cluster) program {
	b.Helper()
	return newProgram(b, c, binaries.Get(b).Helm4, helmAgent)
}

// contestant is a version of Helm with its name on the page.
type contestant struct {
	name    string
	program program
}

// versionsOfHelm returns stock Helm, Helm 4 and Ordered Helm, for the cluster unless c is nil.
func versionsOfHelm(b *testing.B, c *cluster.Cluster) []contestant {
	b.Helper()
	return []contestant{{report.Stock, stock(b, c)}, {report.Helm4, helm4(b, c)}, {report.Ours, ours(b, c)}}
}

// optionalTool returns the program whose path is in an environment variable. found is false if
// the variable is not set.
func optionalTool(b *testing.B, c *cluster.Cluster, env string) (p program, found bool) {
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

// installed returns the path of a copy of a binary, which is written in small parts, as when
// an archive is unpacked. Linux attributes more memory to a process whose file was written in
// large parts, as by the linker, because it then maps larger parts of the file.
func installed(b *testing.B, binary string) string {
	b.Helper()
	content, err := os.ReadFile(binary)
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.TempDir(), filepath.Base(binary))
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		b.Fatal(err)
	}
	const part = 32 << 10
	for written := range slices.Chunk(content, part) {
		if _, err := file.Write(written); err != nil {
			b.Fatal(err)
		}
	}
	if err := file.Close(); err != nil {
		b.Fatal(err)
	}
	return path
}

// does returns a step that runs the program with the arguments.
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

// installs installs a chart in order, with long timeouts.
func (p program) installs(ctx context.Context, chart, namespace string) (launch.Usage, error) {
	return p.run(ctx, "install", "rel", chart, "--namespace", namespace,
		"--wait=ordered", "--readiness-timeout", "5m", "--timeout", "10m")
}
