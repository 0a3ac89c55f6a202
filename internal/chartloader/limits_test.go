// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartloader_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	helmloader "helm.sh/helm/v3/pkg/chart/loader"

	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/yamledit"
)

const small = "apiVersion: v3\nname: c\nversion: 1.0.0\n"

// packed returns an archive with files in the given order. The entries are alternately
// names and contents.
func packed(tb testing.TB, entries ...string) []byte {
	tb.Helper()
	var b bytes.Buffer
	zipped, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // it fails only for unknown levels
	out := tar.NewWriter(zipped)
	for i := 0; i < len(entries); i += 2 {
		name, text := entries[i], entries[i+1]
		if err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			tb.Fatal(err)
		}
		if _, err := out.Write([]byte(text)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := errors.Join(out.Close(), zipped.Close()); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// nestedFolders returns an archive of nested, unpacked charts.
func nestedFolders(tb testing.TB, charts int) []byte {
	tb.Helper()
	var entries []string
	for i := range charts {
		entries = append(entries, "c/"+strings.Repeat("charts/c/", i)+"Chart.yaml", small)
	}
	return packed(tb, entries...)
}

// nestedArchives returns an archive of nested, packed charts.
func nestedArchives(tb testing.TB, charts int) []byte {
	tb.Helper()
	data := packed(tb, "c/Chart.yaml", small)
	for range charts - 1 {
		data = packed(tb, "c/Chart.yaml", small, "c/charts/c.tgz", string(data))
	}
	return data
}

// files returns a chart with a number of additional files. Their name contains the index of
// the file.
func files(tb testing.TB, name string, n int, text string) []byte {
	tb.Helper()
	entries := []string{"c/Chart.yaml", small}
	for i := range n {
		entries = append(entries, fmt.Sprintf("c/"+name, i), text)
	}
	return packed(tb, entries...)
}

// librariesOf returns a chart with subcharts, each of which asks for all libraries of the chart. If there is
// one subchart only, the libraries are large.
func librariesOf(tb testing.TB, subcharts, libraries int) []byte {
	tb.Helper()
	const v3 = "apiVersion: helm.sh/v3\nkind: Chart\nmetadata: {name: %s, labels: {version: 1.0.0}}\n"
	asks := "data:\n  libraries:\n"
	var entries []string
	for i := range libraries {
		name, text := fmt.Sprintf("l%d", i), ""
		if subcharts == 1 {
			text = name + strings.Repeat("0", 2<<20)
		}
		asks += "  - {name: " + name + ", version: '*'}\n"
		entries = append(entries, "c/library/"+name+".tgz", string(packed(tb, "l/Chart.yaml", fmt.Sprintf(v3, name), "l/text", text)))
	}
	entries = append(entries, "c/Chart.yaml", fmt.Sprintf(v3, "c")+asks)
	for i := range subcharts {
		name := fmt.Sprintf("s%d", i)
		entries = append(entries, "c/charts/"+name+"/Chart.yaml", fmt.Sprintf(v3, name)+asks)
	}
	return packed(tb, entries...)
}

// comments returns an archive with a number of comments of one megabyte.
func comments(tb testing.TB, n int) []byte {
	tb.Helper()
	var b bytes.Buffer
	zipped, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // it fails only for unknown levels
	out := tar.NewWriter(zipped)
	for range n {
		header := &tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "c/x", PAXRecords: map[string]string{"comment": strings.Repeat("c", 1_000_000)}}
		if err := out.WriteHeader(header); err != nil {
			tb.Fatal(err)
		}
	}
	if err := errors.Join(out.Close(), zipped.Close()); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func TestChartsThatAreTooLarge(t *testing.T) {
	// Helm's limits can be changed. The default is 100 MiB, but a lower limit makes the
	// test faster.
	before := helmloader.MaxDecompressedChartSize
	helmloader.MaxDecompressedChartSize = 10 << 20
	t.Cleanup(func() { helmloader.MaxDecompressedChartSize = before })
	zeros := string(files(t, "zeros%d", 2, strings.Repeat("0", 1<<20)))
	long := strings.Repeat("n", 4092)
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"charts nested as deep as they may be", nestedFolders(t, 100), ""},
		{"charts nested too deep", nestedFolders(t, 101), "the chart has subcharts nested more than 100 levels deep"},
		{"packed charts nested as deep as they may be", nestedArchives(t, 100), ""},
		{"packed charts nested too deep", nestedArchives(t, 101), "the chart has subcharts nested more than 100 levels deep"},
		{"many charts", files(t, "charts/c%d/Chart.yaml", 10_000, small), "the chart has more than 10000 subcharts"},
		{"many files", files(t, "f%d", 19_999, ""), ""},
		{"too many files", files(t, "f%d", 20_000, ""), "the chart has more than 20000 files"},
		{"too many files in packed charts", files(t, "charts/c%d.tgz", 4, string(files(t, "f%d", 6_000, ""))), "the chart has more than 20000 files, including its subcharts"},
		{"packed charts", files(t, "charts/c%d.tgz", 4, zeros), ""},
		{"packed charts that are large together", files(t, "charts/c%d.tgz", 6, zeros), "the chart has packed subcharts of more than 10485760 bytes in total when unpacked"},
		{"a long name", files(t, long+"%d", 1, ""), ""},
		{"a name that is too long", files(t, long+"nn%d", 1, ""), "the chart has a file whose path has 4097 bytes; the maximum is 4096: c/nnn"},
		{"headers without end", comments(t, 52), "the chart has more than 51445760 bytes when unpacked, with headers"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			name := filepath.Join(t.TempDir(), "chart.tgz")
			if err := os.WriteFile(name, tt.data, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, load := range []func() error{
				func() error { _, err := chartloader.LoadArchive(bytes.NewReader(tt.data)); return err },
				func() error { _, err := chartloader.LoadFile(name); return err },
				func() error { _, err := chartloader.CanonicalArchive(tt.data); return err },
			} {
				err := load()
				if tt.want == "" {
					if err != nil {
						t.Errorf("got %v", err)
					}
					continue
				}
				var limit *chartloader.LimitError
				if !errors.As(err, &limit) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %.300v, want %s", err, tt.want)
				}
			}
		})
	}
}

// TestLibrariesThatAreTooLarge checks the limits of what libraries add to a chart.
func TestLibrariesThatAreTooLarge(t *testing.T) {
	before := helmloader.MaxDecompressedChartSize
	helmloader.MaxDecompressedChartSize = 10 << 20
	t.Cleanup(func() { helmloader.MaxDecompressedChartSize = before })
	for _, tt := range []struct {
		name                 string
		subcharts, libraries int
		want                 string
	}{
		{"many charts", 1_000, 3, ""},
		{"large together", 1, 6, "the chart has packed subcharts of more than 10485760 bytes in total when unpacked"},
		{"too many charts", 4_990, 2, "the chart has more than 10000 subcharts"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := chartloader.LoadArchive(bytes.NewReader(librariesOf(t, tt.subcharts, tt.libraries)))
			if tt.want == "" && err == nil {
				return
			}
			var limit *chartloader.LimitError
			if !errors.As(err, &limit) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %.300v, want %s", err, tt.want)
			}
		})
	}
}

// TestHelmsLimitsHold checks an archive that exceeds one of Helm's own limits.
func TestHelmsLimitsHold(t *testing.T) {
	for name, want := range map[string]string{
		"one file": "is larger than the maximum file size", "all files": "decompressed chart is larger than the maximum file size",
	} {
		data := files(t, "f%d", 1, strings.Repeat("0", int(helmloader.MaxDecompressedFileSize)+1))
		if name == "all files" {
			data = files(t, "f%d", 21, strings.Repeat("0", int(helmloader.MaxDecompressedFileSize)))
		}
		if _, err := chartloader.LoadArchive(bytes.NewReader(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}

// TestAliasExpansionIsLimited checks that too many aliases are rejected in all files that
// Helm's loader parses, also in subcharts.
func TestAliasExpansionIsLimited(t *testing.T) {
	text := "a: &a " + strings.Repeat("x", 100_000) + "\nb: [" + strings.Repeat("*a,", 200) + "]\n"
	for _, name := range []string{
		"Chart.yaml", "values.yaml", "Chart.lock", "requirements.yaml", "requirements.lock", "charts/d/values.yaml", "charts/d/Chart.yaml",
	} {
		_, err := chartloader.LoadFiles([]*chartloader.BufferedFile{
			{Name: "Chart.yaml", Data: []byte(small)}, {Name: name, Data: []byte(small + text)},
		})
		var aliases *yamledit.AliasExpansionError
		if !errors.As(err, &aliases) || !strings.HasPrefix(err.Error(), name+": ") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	inner := packed(t, "d/Chart.yaml", small, "d/values.yaml", text)
	_, err := chartloader.LoadArchive(bytes.NewReader(packed(t, "c/Chart.yaml", small, "c/charts/d.tgz", string(inner))))
	if want := "charts/d.tgz: values.yaml: its aliases expand to more than 16 MiB"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}
