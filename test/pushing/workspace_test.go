// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package pushing tests "helm push" to HTTP servers and with uploaders of plugins, without a
// cluster.
package pushing

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/chartserver"
	"github.com/ordered-helm/helm/test/signing"
)

// workspace is a temporary directory in which a test runs helm, with its own home directory.
type workspace struct {
	t   *testing.T
	dir string
	env []string
	key *signing.Key
	// output is everything that helm has printed.
	output strings.Builder
}

func newWorkspace(t *testing.T) *workspace {
	t.Helper()
	w := &workspace{t: t, dir: t.TempDir(), key: signing.NewKey(t, "anna", "")}
	w.env = []string{"HOME=" + filepath.Join(w.dir, "home"), "PATH=" + os.Getenv("PATH"), "KUBECONFIG=" + filepath.Join(w.dir, "none")}
	return w
}

// command returns a command that runs helm with the words of line.
func (w *workspace) command(line string) *exec.Cmd {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), binaries.Get(w.t).Helm, strings.Fields(line)...)
	cmd.Dir, cmd.Env = w.dir, w.env
	return cmd
}

// run runs helm with the words of line.
func (w *workspace) run(line string) (stdout, stderr string, code int) {
	w.t.Helper()
	cmd := w.command(line)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	w.output.WriteString(out.String() + errOut.String())
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

// mustRun runs helm, which must succeed, and returns its standard output.
func (w *workspace) mustRun(line string) string {
	w.t.Helper()
	stdout, stderr, code := w.run(line)
	if code != 0 {
		w.t.Fatalf("helm %s: exit code %d\n%s%s", line, code, stdout, stderr)
	}
	return stdout
}

// expectError runs helm, which must fail with a message that contains all of want, and must not
// report that it has pushed a chart.
func (w *workspace) expectError(line string, want ...string) {
	w.t.Helper()
	stdout, stderr, code := w.run(line)
	if code != 1 || strings.Contains(stdout+stderr, "Pushed:") {
		w.t.Errorf("helm %s: exit code %d\n%s%s", line, code, stdout, stderr)
	}
	for _, text := range want {
		if !strings.Contains(stderr, text) {
			w.t.Errorf("helm %s: %q is missing in\n%s", line, text, stderr)
		}
	}
}

func (w *workspace) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

func (w *workspace) write(name, text string, mode os.FileMode) {
	w.t.Helper()
	err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755)
	if err == nil {
		err = os.WriteFile(w.path(name), []byte(text), mode)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// pack writes an archive of a version of the chart shop, and its provenance file.
func (w *workspace) pack(version string) (archive string) {
	w.t.Helper()
	source := "source-" + version + "/shop/"
	w.write(source+"Chart.yaml", "apiVersion: v2\nname: shop\nversion: "+version+"\ndescription: A shop\n", 0o600)
	w.write(source+"templates/shop.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: shop\ndata:\n  version: {{ .Chart.Version | quote }}\n", 0o600)
	packed, err := chartserver.Pack(w.path(source))
	if err != nil {
		w.t.Fatal(err)
	}
	archive = "shop-" + version + ".tgz"
	w.write(archive, string(packed), 0o600)
	if _, err := w.key.Sign(w.path(archive)); err != nil {
		w.t.Fatal(err)
	}
	return archive
}

// expectUsable checks that clients can find and verify a version of the chart shop, and render it,
// in the repository that was added with the name shops.
func (w *workspace) expectUsable(version string) {
	w.t.Helper()
	w.mustRun("repo update")
	if found := w.mustRun("search repo shops/shop --version " + version); !strings.Contains(found, version) || !strings.Contains(found, "A shop") {
		w.t.Errorf("the search for %s found\n%s", version, found)
	}
	w.mustRun("pull shops/shop --version " + version + " --verify --keyring " + w.key.PublicRing)
	w.mustRun("verify shop-" + version + ".tgz --keyring " + w.key.PublicRing)
	if rendered := w.mustRun("template shop shops/shop --version " + version); !strings.Contains(rendered, `version: "`+version+`"`) {
		w.t.Errorf("rendered\n%s", rendered)
	}
}

// expectUsableByStock checks that stock Helm can update the repository that was added with the name
// shops, and find and verify a version of the chart shop in it.
func (w *workspace) expectUsableByStock(version string) {
	w.t.Helper()
	for _, line := range []string{
		"repo update", "search repo shops/shop --version " + version,
		"pull shops/shop --version " + version + " --verify --keyring " + w.key.PublicRing,
	} {
		cmd := w.command(line)
		cmd.Path = binaries.Get(w.t).Stock
		if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "No results") {
			w.t.Errorf("stock: helm %s: %v\n%s", line, err, out)
		}
	}
}
