// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package pushing

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/repo"

	"github.com/ordered-helm/helm/test/chartserver"
	"github.com/ordered-helm/helm/test/nginx"
)

// TestNginx pushes charts with PUT to nginx, and checks that clients can use them.
func TestNginx(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, folder string
		tls          bool
		flags        func(s *nginx.Server) string
	}{
		{name: "open", folder: "/charts", flags: func(*nginx.Server) string { return "" }},
		{name: "password", folder: "/private", flags: func(*nginx.Server) string { return "--username " + nginx.Username + " --password " + nginx.Password }},
		{name: "client certificate", folder: "/charts", tls: true, flags: func(s *nginx.Server) string {
			return "--ca-file " + s.Certificates.CA + " --cert-file " + s.Certificates.Cert + " --key-file " + s.Certificates.Key
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, w := nginx.Start(t, tt.tls), newWorkspace(t)
			first, second, third := w.pack("1.0.0"), w.pack("1.1.0"), w.pack("1.2.0")
			address, flags := s.URL+tt.folder, tt.flags(s)
			if flags != "" {
				w.expectError("push "+first+" "+address+" --http-method put --update-index", address)
			}
			out := w.mustRun("push " + first + " " + address + " --http-method put --update-index " + flags)
			if !strings.HasPrefix(out, "Pushed: "+first+" to "+address+"\nDigest: sha256:") {
				t.Errorf("helm push printed\n%s", out)
			}
			w.mustRun("repo add shops " + address + " " + flags)
			w.expectUsable("1.0.0")
			w.mustRun("push " + second + " shops --http-method put --update-index")
			w.expectUsable("1.1.0")
			w.expectUsable("1.0.0")
			w.expectUsableByStock("1.1.0")
			w.expectError("push "+second+" shops --http-method put --update-index", "chart shop 1.1.0 already exists", "to replace it, use --force")
			w.expectError("push "+second+" shops --http-method put", "chart shop 1.1.0 already exists", "with the same content", "to replace it, use --force")
			w.mustRun("push " + second + " shops --http-method put --update-index --force")
			w.expectUsable("1.1.0")
			_, stderr, code := w.run("push " + third + " shops --http-method put")
			if code != 0 || !strings.Contains(stderr, "WARNING: the server must add the chart to its index.yaml; if it does not do this, use --update-index") {
				t.Errorf("exit code %d\n%s", code, stderr)
			}
			expectVersions(t, filepath.Join(s.Folder, tt.folder, "index.yaml"), "1.1.0 1.0.0")
			w.expectError("push "+third+" shops --force", "--http-method put")
		})
	}
}

// expectVersions checks which versions of the chart shop are in an index.
func expectVersions(t *testing.T, file, want string) {
	t.Helper()
	index, err := repo.LoadIndexFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var versions []string
	for _, entry := range index.Entries["shop"] {
		versions = append(versions, entry.Version)
	}
	if got := strings.Join(versions, " "); got != want {
		t.Errorf("the index has the versions %s, want %s", got, want)
	}
}

// TestNginxErrors checks what a user is told if nginx does not accept a chart, and that nothing
// is left.
func TestNginxErrors(t *testing.T) {
	t.Parallel()
	s, w := nginx.Start(t, false), newWorkspace(t)
	archive := w.pack("1.0.0")
	w.expectError("push "+archive+" "+s.URL+"/small --http-method put", "413 Request Entity Too Large", "raise its limit")
	w.expectError("push "+archive+" "+s.URL+"/read-only --http-method put", "405 Method Not Allowed", "use --http-method post")
	w.expectError("push "+archive+" "+s.URL+"/charts/no/folder --http-method put", "500 Internal Server Error", "the directory may not exist")
	w.expectError("push "+archive+" "+s.URL+"/charts", "use --http-method put")
	w.expectError("push "+archive+" "+s.URL+"/private --http-method put", "401 Unauthorized", "use --username and --password, or --access-token")
	if err := os.WriteFile(filepath.Join(s.Folder, "charts", "index.yaml"), []byte("entries: none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.expectError("push "+archive+" "+s.URL+"/charts --http-method put --update-index", "index.yaml cannot be updated: it is not the index of a repository")
	err := filepath.WalkDir(s.Folder, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Base(path) != "index.yaml" {
			t.Errorf("%s was left", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestConcurrentPushes checks that the index has all charts that several processes push at the same
// time to a server that observes If-Match.
func TestConcurrentPushes(t *testing.T) {
	t.Parallel()
	w, folder := newWorkspace(t), t.TempDir()
	s := chartserver.Start(t, "", chartserver.Options{Handler: &chartserver.FileStore{Folder: folder}})
	versions := []string{"1.5.0", "1.4.0", "1.3.0", "1.2.0", "1.1.0"}
	var running []*exec.Cmd
	for _, version := range versions {
		cmd := w.command("push " + w.pack(version) + " " + s.URL + " --http-method put --update-index")
		cmd.Stderr = new(bytes.Buffer)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, cmd)
	}
	for _, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, cmd.Stderr)
		}
	}
	expectVersions(t, filepath.Join(folder, "index.yaml"), strings.Join(versions, " "))
}
