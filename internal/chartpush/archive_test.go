// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartpush_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/chartpush"
)

func TestReadArchive(t *testing.T) {
	path := packChart(t)
	archive := readArchive(t, path)
	if archive.FileName() != "shop-1.2.3.tgz" || archive.Digest != digestOf(t, path) || archive.Metadata.Description != "A shop" {
		t.Errorf("got %+v", archive)
	}
	sign(t, path, "files:\n  shop-1.2.3.tgz: sha256:"+archive.Digest+"\n")
	readArchive(t, path)
}

func TestReadArchiveErrors(t *testing.T) {
	valid := packChart(t)
	packed, err := os.ReadFile(valid)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		content string
		// digests is the content of a provenance file, or empty. A text without a colon is
		// written without a signature.
		digests string
		want    string
	}{
		{"no archive", "kind: Chart\n", "", "does not appear to be a gzipped archive"},
		{"damaged archive", string(packed[:len(packed)/2]), "", "unexpected EOF"},
		{"provenance of another file", string(packed), "files:\n  shop-1.2.3.tgz: sha256:0000\n", "it is for sha256:0000, but the archive is sha256:" + digestOf(t, valid)},
		{"provenance of another name", string(packed), "files:\n  shop.tgz: sha256:" + digestOf(t, valid) + "\n", "it contains no digest for shop-1.2.3.tgz"},
		{"provenance without digests", string(packed), "images: {}\n", "it contains no digest for shop-1.2.3.tgz"},
		{"no provenance", string(packed), "nothing", "it is not a provenance file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "shop-1.2.3.tgz")
			writeFile(t, path, tt.content)
			if strings.Contains(tt.digests, ":") {
				sign(t, path, tt.digests)
			} else if tt.digests != "" {
				writeFile(t, path+".prov", tt.digests)
			}
			_, err := chartpush.ReadArchive(path)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want the path and %q", err, tt.want)
			}
		})
	}
	if _, err := chartpush.ReadArchive(filepath.Dir(valid)); err == nil || !strings.Contains(err.Error(), "cannot push directory") {
		t.Errorf("directory: got %v", err)
	}
	if _, err := chartpush.ReadArchive(valid + ".no"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("missing file: got %v", err)
	}
}
