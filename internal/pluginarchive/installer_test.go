// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package pluginarchive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"helm.sh/helm/v3/pkg/plugin/installer"
)

// pack makes an archive; a header's Size is taken from its Linkname's length if
// it is a file, whose content that is.
func pack(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var buffer bytes.Buffer
	compressed := gzip.NewWriter(&buffer)
	out := tar.NewWriter(compressed)
	for _, header := range headers {
		content := ""
		if header.Typeflag == tar.TypeReg {
			content, header.Linkname = header.Linkname, ""
			header.Size = int64(len(content))
		}
		if err := out.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(out.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

func file(name, content string, mode int64) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeReg, Linkname: content, Mode: mode}
}

var manifest = file("plugin.yaml", "name: hello\n", 0o644)

// install serves an archive and installs it below a new folder.
func install(t *testing.T, archive []byte, maxSize int64) (plugins string, err error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/hello.tgz" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(archive)
	}))
	t.Cleanup(server.Close)
	plugins = filepath.Join(t.TempDir(), "plugins")
	if err := os.Mkdir(plugins, 0o755); err != nil {
		t.Fatal(err)
	}
	i := NewInstaller(t.Context(), server.URL+"/hello.tgz", filepath.Join(plugins, "hello"))
	if archive == nil {
		i.source = server.URL + "/none.tgz"
	}
	i.MaxSize = maxSize
	return plugins, i.Install()
}

// list returns the paths in a folder, with their modes.
func list(t *testing.T, dir string) []string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(dir, path)
		paths = append(paths, info.Mode().String()+" "+relative)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func TestInstall(t *testing.T) {
	folder := tar.Header{Name: "bin/", Typeflag: tar.TypeDir, Mode: 0o755}
	own := tar.Header{Name: "./", Typeflag: tar.TypeDir, Mode: 0o755}
	script := file("bin/run.sh", "#!/bin/sh\n", 0o755)
	whole := []string{"drwxr-xr-x hello", "drwxr-xr-x hello/bin", "-rwxr-xr-x hello/bin/run.sh", "-rw-r--r-- hello/plugin.yaml"}
	tests := []struct {
		name    string
		archive []tar.Header
		want    []string
	}{
		{name: "with folders", archive: []tar.Header{manifest, folder, script}, want: whole},
		{name: "without folders", archive: []tar.Header{script, manifest}, want: whole},
		{name: "with its own folder", archive: []tar.Header{own, file("./plugin.yaml", "name: hello\n", 0o644)}, want: []string{"drwxr-xr-x hello", "-rw-r--r-- hello/plugin.yaml"}},
		{name: "from Windows", archive: []tar.Header{manifest, file(`bin\run.sh`, "", 0o755)}, want: whole},
		{name: "with special bits", archive: []tar.Header{manifest, file("bin/run.sh", "", 0o6755)}, want: whole},
		{name: "with a file twice", archive: []tar.Header{manifest, script, script}, want: whole},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plugins, err := install(t, pack(t, tt.archive...), DefaultMaxSize)
			if err != nil {
				t.Fatal(err)
			}
			if got := list(t, plugins); !slices.Equal(got, tt.want) {
				t.Errorf("there is %q, want %q", got, tt.want)
			}
		})
	}
}

func TestRefusedArchives(t *testing.T) {
	const enough = 1 << 20
	tests := []struct {
		name    string
		archive []byte
		maxSize int64
		want    string // beginning with "extracting files from archive: "
		is      error
	}{
		{name: "parent", archive: pack(t, manifest, file("../up", "x", 0o644)), want: "path contains '..', which is illegal"},
		{name: "parent inside", archive: pack(t, manifest, file("bin/../../up", "x", 0o644)), want: "path contains '..', which is illegal"},
		{name: "parent by backslash", archive: pack(t, manifest, file(`..\up`, "x", 0o644)), want: "path contains '..', which is illegal"},
		{name: "absolute", archive: pack(t, manifest, file("/up", "x", 0o644)), want: "path is absolute, which is illegal"},
		{name: "absolute by backslash", archive: pack(t, manifest, file(`\up`, "x", 0o644)), want: "path is absolute, which is illegal"},
		{name: "drive", archive: pack(t, manifest, file("c:up", "x", 0o644)), want: "path contains ':', which is illegal"},
		{name: "symbolic link", archive: pack(t, manifest, tar.Header{Name: "up", Typeflag: tar.TypeSymlink, Linkname: "/tmp"}), want: "unknown type: 110010 in up"},
		{name: "hard link", archive: pack(t, manifest, tar.Header{Name: "up", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}), want: "unknown type: 110001 in up"},
		{name: "no archive", archive: []byte("text"), want: "unexpected EOF"},
		{name: "no manifest", archive: pack(t, file("readme", "x", 0o644)), is: installer.ErrMissingMetadata},
		{name: "nothing", archive: pack(t), is: installer.ErrMissingMetadata},
		{name: "too large", archive: pack(t, manifest, file("large", string(make([]byte, enough)), 0o644)), maxSize: enough, is: ErrTooLarge},
		{name: "too many", archive: pack(t, slices.Repeat([]tar.Header{manifest}, 20)...), maxSize: 20 * entrySize, is: ErrTooLarge},
		{name: "not there"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.maxSize == 0 {
				tt.maxSize = enough
			}
			plugins, err := install(t, tt.archive, tt.maxSize)
			switch {
			case err == nil:
				t.Error("installed")
			case tt.is != nil && !errors.Is(err, tt.is):
				t.Errorf("error %v, want %v", err, tt.is)
			case tt.want != "" && err.Error() != "extracting files from archive: "+tt.want:
				t.Errorf("error %v, want %s", err, tt.want)
			}
			if left := list(t, filepath.Dir(plugins)); !slices.Equal(left, []string{"drwxr-xr-x plugins"}) {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

func TestInstallOverWhatIsThere(t *testing.T) {
	target := filepath.Join(t.TempDir(), "hello")
	if err := os.MkdirAll(filepath.Join(target, "mine"), 0o755); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(pack(t, manifest)) }))
	t.Cleanup(server.Close)
	if err := NewInstaller(t.Context(), server.URL+"/hello.tgz", target).Install(); err == nil {
		t.Error("installed over a folder with something in it")
	}
	if got := list(t, filepath.Dir(target)); !slices.Equal(got, []string{"drwxr-xr-x hello", "drwxr-xr-x hello/mine"}) {
		t.Errorf("there is %q", got)
	}
}

func TestUpdate(t *testing.T) {
	if err := NewInstaller(t.Context(), "http://127.0.0.1/hello.tgz", "hello").Update(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error %v", err)
	}
}
