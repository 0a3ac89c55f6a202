// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package pushing

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/ordered-helm/helm/test/chartserver"
)

// installPlugin writes a plugin with an uploader for a scheme of the same name, which is a shell
// script. It copies charts to a directory with the script copy.
func (w *workspace) installPlugin(name, script string) {
	w.t.Helper()
	dir := "home/.local/share/helm/plugins/" + name + "/"
	w.write(dir+"plugin.yaml", "name: "+name+"\nversion: 0.1.0\ncommand: nothing\n", 0o600)
	w.write(dir+"uploaders.yaml", "- protocols: ["+name+"]\n  command: bin/upload.sh --quiet\n", 0o600)
	w.write(dir+"bin/upload.sh", "#!/bin/sh\nset -e\n"+script, 0o700)
}

func TestUploaderPlugin(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	archive := w.pack("1.0.0")
	w.installPlugin("copy", `echo "to stdout $*"; echo "to stderr $HELM_PLUGIN_NAME $HELM_PLUGIN_USERNAME $HELM_PLUGIN_PASSWORD $HELM_PLUGIN_PASS_CREDENTIALS_ALL" >&2
cp "$6" "$6.prov" "${5#copy://}"`)
	folder := t.TempDir()
	stdout, stderr, code := w.run("push " + archive + " copy://" + folder + " --username anna --password the-password --cert-file c --key-file k --ca-file a")
	if want := "Pushed: " + archive + " to copy://" + folder + "\nDigest: sha256:"; code != 0 || !strings.HasPrefix(stdout, want) {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if want := "to stdout --quiet c k a copy://" + folder + " " + archive + "\nto stderr copy anna the-password false\n"; stderr != want {
		t.Errorf("stderr is\n%swant\n%s", stderr, want)
	}
	for _, name := range []string{archive, archive + ".prov"} {
		if _, err := os.Stat(folder + "/" + name); err != nil {
			t.Error(err)
		}
	}
	// The URL and the credentials of an added repository are used too.
	w.write("home/.config/helm/repositories.yaml", fmt.Sprintf("apiVersion: v1\nrepositories:\n- {name: mine, url: 'copy://%s', username: otto, password: of-the-repository, pass_credentials_all: true}\n", folder), 0o600)
	if _, stderr, code := w.run("push " + archive + " mine"); code != 0 || !strings.Contains(stderr, "to stderr copy otto of-the-repository true") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	w.installPlugin("quiet", "exit 0")
	if stdout := w.mustRun("push " + archive + " quiet://somewhere"); !strings.HasPrefix(stdout, "Pushed: ") {
		t.Errorf("stdout is\n%s", stdout)
	}
	w.installPlugin("failing", "echo no space; exit 3")
	w.expectError("push "+archive+" failing://anna:secret-in-url@somewhere", "no space\n", `the uploader of plugin "failing" failed: exit code 3`)
	w.expectError("push "+archive+" quiet://somewhere --force", "--force can be used only if the chart is pushed to an HTTP server")
	if strings.Contains(w.output.String(), "secret-in-url") {
		t.Error("the password in the URL is shown")
	}
	suggested := w.mustRun("__complete push " + archive + " c")
	for _, want := range []string{"oci://\n", "mine\tcopy://", "https://\n", "copy://\tplugin copy\n"} {
		if !strings.Contains(suggested, want) {
			t.Errorf("completion does not suggest %q:\n%s", want, suggested)
		}
	}
}

func TestUnknownRemotes(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	archive := w.pack("1.0.0")
	w.installPlugin("copy", "exit 0")
	w.expectError("push "+archive+" ftp://anna:secret@example.com", `scheme "ftp" not supported: must be one of: copy, http, https, oci; plugins can add others`)
	w.expectError("push "+archive+" shops", `scheme prefix missing from remote (e.g. "oci://"), and no repository is named "shops": "helm repo add" adds repositories`)
	w.write("home/.config/helm/repositories.yaml", "apiVersion: v1\nrepositories:\n- {name: shops, url: 'http://127.0.0.1:1'}\n", 0o600)
	w.expectError("push "+archive+" shpos", `no repository is named "shpos" (did you mean "shops"?)`)
	w.write("home/.local/share/helm/plugins/broken/plugin.yaml", "name: broken\nversion: 0.1.0\ncommand: nothing\n", 0o600)
	w.write("home/.local/share/helm/plugins/broken/uploaders.yaml", "- {protocols: [ftp], comand: up}\n", 0o600)
	w.expectError("push "+archive+" ftp://example.com", `scheme "ftp" not supported`, `the uploaders of plugin "broken" cannot be read`, `unknown field "comand"`)
	w.mustRun("push " + archive + " copy://somewhere")
	w.expectError("push "+archive+" oci://127.0.0.1:1/charts --update-index --http-method put", "--http-method can be used only if the chart is pushed to an HTTP server")
	w.expectError("push "+archive+" oci://127.0.0.1:1/charts --access-token token", "--access-token cannot be used with a registry")
	w.env = append(w.env, "HELM_REPO_ACCESS_TOKEN=token")
	w.expectError("push "+archive+" oci://127.0.0.1:1/charts", "connection refused")
}

// TestBadArchives checks that what cannot be pushed is found before anything is sent.
func TestBadArchives(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	archive := w.pack("1.0.0")
	w.installPlugin("copy", "exit 0")
	packed, err := os.ReadFile(w.path(archive))
	if err != nil {
		t.Fatal(err)
	}
	proof, err := os.ReadFile(w.path(archive + ".prov"))
	if err != nil {
		t.Fatal(err)
	}
	s := chartserver.Start(t, "", chartserver.Options{Handler: &chartserver.Museum{Folder: t.TempDir()}})
	w.write("text.tgz", "no archive", 0o600)
	w.write("damaged.tgz", string(packed[:len(packed)/2]), 0o600)
	w.pack("1.1.0")
	w.write("shop-1.1.0.tgz.prov", string(proof), 0o600)
	for _, remote := range []string{s.URL, s.URL + " --http-method put", "copy://somewhere"} {
		w.expectError("push nothing.tgz "+remote, "nothing.tgz: no such file")
		w.expectError("push source-1.0.0 "+remote, "cannot push directory, must provide chart archive (.tgz)")
		w.expectError("push text.tgz "+remote, "does not appear to be a gzipped archive")
		w.expectError("push damaged.tgz "+remote, "unexpected EOF")
		w.expectError("push shop-1.1.0.tgz "+remote, "shop-1.1.0.tgz.prov does not belong to shop-1.1.0.tgz", "it contains no digest for shop-1.1.0.tgz")
	}
	if got := s.Requests(); len(got) > 0 {
		t.Errorf("the server got %+v", got)
	}
}

// TestCanceledPush checks that a signal ends an upload that never ends.
func TestCanceledPush(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			archive := w.pack("1.0.0")
			w.installPlugin("endless", "echo started; sleep 1000")
			cmd := w.command("push " + archive + " endless://somewhere")
			stderr, err := cmd.StderrPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			var text strings.Builder
			for lines := bufio.NewScanner(stderr); lines.Scan(); {
				text.WriteString(lines.Text() + "\n")
				if lines.Text() == "started" {
					if err := cmd.Process.Signal(signal); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 1 {
				t.Errorf("ended with %v", err)
			}
			for _, want := range []string{"Canceling the upload", `the uploader of plugin "endless" was stopped: context canceled`} {
				if !strings.Contains(text.String(), want) {
					t.Errorf("%q is missing in\n%s", want, &text)
				}
			}
		})
	}
}
