// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package tools tests that tools which call helm work with Ordered Helm. `make test-tools`
// builds the tools, in the versions that scripts/tools pins, and runs the tests. The calls of
// tools that cannot be built as Go modules are made by the tests, with the arguments that are
// in the sources of these tools.
package tools

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/cluster"
	"github.com/ordered-helm/helm/test/harness"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// directoryEnv is the environment variable with the directory of the tools.
const directoryEnv = "TOOLS"

// toolsDir returns the directory of the tools. It skips the test if there is none.
func toolsDir(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv(directoryEnv)
	if dir == "" {
		tb.Skipf("$%s is not set: `make test-tools` runs this test", directoryEnv)
	}
	return dir
}

// toolPath returns the path of a tool. It skips the test if the tool was not built.
func toolPath(tb testing.TB, name string) string {
	tb.Helper()
	path := filepath.Join(toolsDir(tb), name)
	if _, err := os.Stat(path); err != nil {
		tb.Skipf("%s was not built: %v", name, err)
	}
	return path
}

// workspace is a directory in which a test runs tools, with a namespace of the cluster. In the
// PATH of the tools, helm is Ordered Helm.
type workspace struct {
	*harness.Helm
	dir string
	// plugins is the directory of Helm's plugins.
	plugins string
}

func newWorkspace(tb testing.TB) *workspace {
	tb.Helper()
	w := &workspace{Helm: harness.New(tb), dir: tb.TempDir(), plugins: tb.TempDir()}
	commands := tb.TempDir()
	harness.NoError(tb, os.Symlink(binaries.Get(tb).Helm, filepath.Join(commands, "helm")))
	harness.NoError(tb, os.Symlink(w.Cluster.Kubectl(), filepath.Join(commands, "kubectl")))
	w.Env = append(w.Env, "PATH="+commands+string(filepath.ListSeparator)+os.Getenv("PATH"),
		"HELM_PLUGINS="+w.plugins, "HELM_NAMESPACE="+w.Namespace)
	return w
}

// write writes files, whose keys are their paths in the workspace.
func (w *workspace) write(tb testing.TB, files map[string]string) {
	tb.Helper()
	for name, text := range files {
		path := filepath.Join(w.dir, name)
		harness.NoError(tb, os.MkdirAll(filepath.Dir(path), 0o755))
		harness.NoError(tb, os.WriteFile(path, []byte(text), 0o755)) //nolint:gosec // some of them are scripts
	}
}

// installPlugin installs a plugin that consists of a manifest and a program, which the
// manifest names as $HELM_PLUGIN_DIR/bin/program.
func (w *workspace) installPlugin(tb testing.TB, manifest, program string) {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), filepath.Base(program)) // the plugin is linked by this name
	harness.NoError(tb, os.MkdirAll(filepath.Join(dir, "bin"), 0o755))
	harness.NoError(tb, os.WriteFile(filepath.Join(dir, "plugin.yaml"), []byte(manifest), 0o600))
	harness.NoError(tb, os.Symlink(program, filepath.Join(dir, "bin", "program")))
	w.mustExec(tb, "helm", "plugin", "install", dir)
}

// runProgram runs a program in the workspace, and returns its output and exit code. The environment
// of the test is extended with that of the workspace.
func (w *workspace) runProgram(tb testing.TB, program string, args ...string) harness.Result {
	tb.Helper()
	return w.execWith(tb, nil, program, args...)
}

// execWith is like exec, with additional environment variables.
func (w *workspace) execWith(tb testing.TB, env []string, program string, args ...string) harness.Result {
	tb.Helper()
	env = append(append([]string{}, w.Env...), env...)
	cmd := exec.CommandContext(tb.Context(), lookup(env, program), args...)
	cmd.Dir, cmd.Env = w.dir, env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		tb.Fatal(err)
	}
	return harness.Result{Stdout: stdout.String(), Stderr: stderr.String(), ExitCode: cmd.ProcessState.ExitCode()}
}

// lookup returns the path of a program, in the PATH of an environment.
func lookup(env []string, program string) string {
	if strings.ContainsRune(program, filepath.Separator) {
		return program
	}
	for i := len(env) - 1; i >= 0; i-- {
		list, isPath := strings.CutPrefix(env[i], "PATH=")
		if !isPath {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			if path := filepath.Join(dir, program); isFile(path) {
				return path
			}
		}
		break
	}
	return program
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// mustExec runs a program in the workspace, and ends the test if it fails. It returns the
// standard output.
func (w *workspace) mustExec(tb testing.TB, program string, args ...string) string {
	tb.Helper()
	r := w.runProgram(tb, program, args...)
	if r.ExitCode != 0 {
		tb.Fatalf("%s %s: exit code %d\n%s%s", filepath.Base(program), strings.Join(args, " "), r.ExitCode, r.Stdout, r.Stderr)
	}
	return r.Stdout
}

// expectExit runs a program in the workspace, and checks its exit code. It returns both
// outputs.
func (w *workspace) expectExit(tb testing.TB, code int, program string, args ...string) string {
	tb.Helper()
	r := w.runProgram(tb, program, args...)
	if r.ExitCode != code {
		tb.Fatalf("%s %s: exit code %d, want %d\n%s%s", filepath.Base(program), strings.Join(args, " "), r.ExitCode, code, r.Stdout, r.Stderr)
	}
	return r.Stdout + r.Stderr
}
