// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package pluginarchive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// FuzzUnpack looks for archives that leave something outside of their folder.
func FuzzUnpack(f *testing.F) {
	for _, link := range []string{"..", "/", "plugin.yaml"} {
		for _, kind := range []byte("0125g") {
			f.Add("a", kind, link, "a/b")
			f.Add("a/../../b", kind, link, `c\d`)
		}
	}
	f.Fuzz(func(t *testing.T, first string, kind byte, link, second string) {
		var b bytes.Buffer
		zipped := gzip.NewWriter(&b)
		out := tar.NewWriter(zipped)
		for _, header := range []tar.Header{{Name: first, Typeflag: kind, Linkname: link, Mode: 0o644}, {Name: second, Typeflag: tar.TypeReg, Size: 1, Mode: 0o644}} {
			if out.WriteHeader(&header) != nil {
				return
			}
		}
		if _, err := out.Write([]byte("x")); err != nil {
			return
		}
		if err := errors.Join(out.Close(), zipped.Close()); err != nil {
			t.Fatal(err)
		}
		top := t.TempDir()
		err := unpack(&b, filepath.Join(top, "plugin"), 1<<20)
		if outside, _ := os.ReadDir(top); len(outside) > 1 {
			t.Errorf("%v, and outside: %v", err, outside)
		}
	})
}
