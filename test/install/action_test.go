// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/binaries"
)

// TestAction checks that the script of the GitHub action installs an archive of a release, and
// installs nothing if the checksum is wrong or missing.
func TestAction(t *testing.T) {
	t.Parallel()
	script := filepath.Join(binaries.Root(t), ".github", "actions", "setup", "install.sh")
	name := fmt.Sprintf("ordered-helm-v1.2.3-%s-%s", runtime.GOOS, runtime.GOARCH)
	source := t.TempDir()
	write(t, filepath.Join(source, name, "helm"), "the program\n")
	write(t, filepath.Join(source, name, "LICENSE"), "the license\n")
	archive := filepath.Join(source, name+".tar.gz")
	output(t, nil, "tar", "-C", source, "-czf", archive, name)
	content, err := os.ReadFile(archive)
	check(t, err)
	sum := fmt.Sprintf("%x", sha256.Sum256(content))

	for _, tt := range []struct {
		name, version, checksums, archive string
		failure                           string
	}{
		{name: "installed", version: "v1.2.3", archive: string(content), checksums: strings.Repeat("0", 64) + "  other.tar.gz\n" + sum + "  " + name + ".tar.gz\n"},
		{name: "another archive", version: "v1.2.3", archive: string(content) + "x", checksums: sum + "  " + name + ".tar.gz\n", failure: "but checksums.txt says " + sum + ": nothing was installed"},
		{name: "no checksum", version: "v1.2.3", archive: string(content), checksums: sum + "  other.tar.gz\n", failure: "checksums.txt does not contain one checksum for " + name + ".tar.gz"},
		{name: "two checksums", version: "v1.2.3", archive: string(content), checksums: strings.Repeat(sum+"  "+name+".tar.gz\n", 2), failure: "checksums.txt does not contain one checksum"},
		{name: "no such version", version: "v1.2.4", archive: string(content), failure: "v1.2.4.tar.gz failed"},
		{name: "no version", version: "../v1.2.3", failure: "the version '../v1.2.3' is not like v1.2.3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			releases, directory := t.TempDir(), filepath.Join(t.TempDir(), "a directory")
			write(t, filepath.Join(releases, "v1.2.3", name+".tar.gz"), tt.archive)
			write(t, filepath.Join(releases, "v1.2.3", "checksums.txt"), tt.checksums)
			cmd := exec.CommandContext(t.Context(), script, tt.version, directory, "file://"+releases)
			out, err := cmd.CombinedOutput()
			program, readError := os.ReadFile(filepath.Join(directory, "helm"))
			switch {
			case tt.failure == "" && (err != nil || string(program) != "the program\n"):
				t.Errorf("%v, installed %q\n%s", err, program, out)
			case tt.failure != "" && (err == nil || readError == nil):
				t.Errorf("installed %q\n%s", program, out)
			case tt.failure != "" && !strings.Contains(strings.ReplaceAll(string(out), "-"+runtime.GOOS+"-"+runtime.GOARCH, ""), strings.ReplaceAll(tt.failure, "-"+runtime.GOOS+"-"+runtime.GOARCH, "")):
				t.Errorf("the error does not contain %q:\n%s", tt.failure, out)
			}
		})
	}
}
