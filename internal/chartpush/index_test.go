// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartpush_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/repo"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/chartpush"
)

// oldIndex has everything that must be preserved: a comment, fields that Helm does not know, an
// entry of another chart and one of the same chart.
const oldIndex = `# maintained by the shop team
apiVersion: v1
serverInfo:
  contextPath: /ctx
x-owner: anna
entries:
  db:
  - name: db
    version: "1.10"
    x-tested: 1.10
    urls: [https://elsewhere.example.com/db-1.10.tgz]
  shop:
  - name: shop
    version: 1.2.2
    urls:
    - shop-1.2.2.tgz
    created: "2020-01-01T00:00:00Z"
generated: "2020-01-01T00:00:00Z"
`

var updateIndex = chartpush.Options{Method: chartpush.Put, UpdateIndex: true}

func loadIndex(t *testing.T, text string) *repo.IndexFile {
	t.Helper()
	var index repo.IndexFile
	if err := yaml.Unmarshal([]byte(text), &index); err != nil {
		t.Fatal(err)
	}
	index.SortEntries()
	return &index
}

func TestUpdateIndex(t *testing.T) {
	archive := readArchive(t, packChart(t))
	for name, old := range map[string]string{
		"no index": "", "old index": oldIndex, "without entries": "apiVersion: v1\n", "null entries": "apiVersion: v1\nentries:\n",
		"null versions": "apiVersion: v1\nentries: {shop: }\n", "JSON": `{"apiVersion": "v1", "entries": {"db": []}}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := startFileServer(t)
			if old != "" {
				s.set(indexPath, old)
			}
			if err := chartpush.Push(t.Context(), archive, s.URL+"/charts", updateIndex); err != nil {
				t.Fatal(err)
			}
			text := s.get(indexPath)
			index := loadIndex(t, text)
			entry, err := index.Get("shop", "1.2.3")
			if err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
			if entry.Digest != archive.Digest || entry.URLs[0] != "shop-1.2.3.tgz" || entry.Description != "A shop" || entry.Created.IsZero() || index.Generated.Year() == 2020 {
				t.Errorf("entry is %+v in\n%s", entry, text)
			}
			if old == oldIndex {
				for _, kept := range []string{"# maintained by the shop team", "contextPath: /ctx", "x-owner: anna", "x-tested: 1.10", `version: "1.10"`, "version: 1.2.2", "https://elsewhere.example.com/db-1.10.tgz", `created: "2020-01-01T00:00:00Z"`} {
					if !strings.Contains(text, kept) {
						t.Errorf("%s is missing in\n%s", kept, text)
					}
				}
				if len(index.Entries["shop"]) != 2 {
					t.Errorf("shop has %d versions", len(index.Entries["shop"]))
				}
			}
		})
	}
}

// TestUpdateIndexOfExistingVersion checks that a version that is in the index is replaced only with force,
// and found before the upload.
func TestUpdateIndexOfExistingVersion(t *testing.T) {
	s := startFileServer(t)
	s.set(indexPath, strings.ReplaceAll(oldIndex, "1.2.2", "1.2.3"))
	archive := readArchive(t, packChart(t))
	err := chartpush.Push(t.Context(), archive, s.URL+"/charts", updateIndex)
	if _, ok := errors.AsType[*chartpush.ExistsError](err); !ok || s.names() != indexPath {
		t.Errorf("error is %v, the server has %s", err, s.names())
	}
	forced := updateIndex
	forced.Force = true
	if err := chartpush.Push(t.Context(), archive, s.URL+"/charts", forced); err != nil {
		t.Fatal(err)
	}
	if versions := loadIndex(t, s.get(indexPath)).Entries["shop"]; len(versions) != 1 || versions[0].Digest != archive.Digest {
		t.Errorf("the index is\n%s", s.get(indexPath))
	}
}

// TestUpdateIndexConcurrently checks that changes by others are not lost: the index is extended again.
func TestUpdateIndexConcurrently(t *testing.T) {
	for name, old := range map[string]string{"changed": oldIndex, "created": ""} {
		t.Run(name, func(t *testing.T) {
			s := startFileServer(t)
			if old != "" {
				s.set(indexPath, old)
			}
			others := 0
			s.answer = func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodPut && r.URL.Path == indexPath && others < 3 {
					others++
					s.set(indexPath, fmt.Sprintf("apiVersion: v1\nentries:\n  other%d: [{name: other, version: 1.0.0}]\n", others))
				}
				return false
			}
			if err := chartpush.Push(t.Context(), readArchive(t, packChart(t)), s.URL+"/charts", updateIndex); err != nil {
				t.Fatal(err)
			}
			index := loadIndex(t, s.get(indexPath))
			if !index.Has("shop", "1.2.3") || !index.Has("other3", "1.0.0") {
				t.Errorf("the index is\n%s", s.get(indexPath))
			}
		})
	}
}

// TestUpdateIndexFailures checks what is reported if the index cannot be updated.
func TestUpdateIndexFailures(t *testing.T) {
	isPut := func(r *http.Request) bool { return r.Method == http.MethodPut && r.URL.Path == indexPath }
	answer := func(code int) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if isPut(r) {
				w.WriteHeader(code)
			}
			return isPut(r)
		}
	}
	get := func(header, value, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodGet && r.URL.Path == indexPath {
				w.Header().Set(header, value)
				_, _ = io.WriteString(w, body)
				return true
			}
			return false
		}
	}
	tests := []struct {
		name, index string
		answer      func(http.ResponseWriter, *http.Request) bool
		want        string
		pushed      bool // the chart was uploaded
	}{
		{name: "not an index", index: "- a\n- b\n", want: "it is not the index of a repository"},
		{name: "no YAML", index: "{{{", want: "it is not the index of a repository"},
		{name: "no apiVersion", index: "entries: {}\n", want: "it has no apiVersion"},
		{name: "only a comment", index: "# nothing\n", want: "it has no apiVersion"},
		{name: "aliases", index: "apiVersion: v1\nentries: {a: &a [], shop: *a}\n", want: "the entry shop is an alias"},
		{name: "no ETag", answer: get("Content-Type", "text/yaml", oldIndex), want: "the server sends no strong ETag"},
		{name: "weak ETag", answer: get("ETag", `W/"1"`, oldIndex), want: "the server sends no strong ETag"},
		{name: "not changed", index: oldIndex, answer: answer(204), want: "the server answered 204 No Content when it was updated, but has not changed it", pushed: true},
		{name: "not created", answer: answer(201), want: "the server answered 201 Created when it was updated, but has not changed it", pushed: true},
		{name: "not allowed", index: oldIndex, answer: answer(403), want: "403 Forbidden", pushed: true},
		{name: "always changed", index: oldIndex, answer: answer(412), want: "it could not be changed in 8 attempts", pushed: true},
	}
	archive := readArchive(t, packChart(t))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := startFileServer(t)
			if tt.index != "" {
				s.set(indexPath, tt.index)
			}
			s.answer = tt.answer
			err := chartpush.Push(t.Context(), archive, s.URL+"/charts", updateIndex)
			checkError(t, err, tt.want)
			if tt.pushed {
				checkError(t, err, "the chart was uploaded to "+s.URL+chartPath+", but "+s.URL+indexPath+" does not list it")
			}
			if _, ok := errors.AsType[*chartpush.IndexError](err); ok != tt.pushed || (s.get(chartPath) != "") != tt.pushed {
				t.Errorf("the chart was pushed %v, error is %T", s.get(chartPath) != "", err)
			}
			if tt.index != "" && s.get(indexPath) != tt.index {
				t.Errorf("the index was changed to\n%s", s.get(indexPath))
			}
		})
	}
}

// TestBrokenUploadOfIndex checks that an index of which the server has stored only a part is
// completed, even if the part contains the chart, and that an upload whose answer was lost counts.
func TestBrokenUploadOfIndex(t *testing.T) {
	archive := readArchive(t, packChart(t))
	for name, end := range map[string]string{"all": "", "a part": "  wheel:", "a damaged part": `: "2020`} {
		t.Run(name, func(t *testing.T) {
			s, broken := startFileServer(t), false
			s.set(indexPath, "apiVersion: v1\nentries:\n  shop: []\n  wheel:\n  - {name: wheel, version: 1.0.0, created: \"2020-01-01T00:00:00Z\"}\n")
			s.answer = func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodPut || r.URL.Path != indexPath || broken {
					return false
				}
				broken = true
				content, _ := io.ReadAll(r.Body)
				if end != "" {
					content = content[:strings.Index(string(content), end)+1]
				}
				s.set(indexPath, string(content))
				panic(http.ErrAbortHandler)
			}
			if err := chartpush.Push(t.Context(), archive, s.URL+"/charts", updateIndex); err != nil {
				t.Fatal(err)
			}
			if index := loadIndex(t, s.get(indexPath)); !index.Has("shop", "1.2.3") || !index.Has("wheel", "1.0.0") {
				t.Errorf("the index is\n%s", s.get(indexPath))
			}
		})
	}
}

// TestPartialIndex checks that an index of which the server has stored only a part is reported, even if
// the part contains the chart.
func TestPartialIndex(t *testing.T) {
	s := startFileServer(t)
	s.set(indexPath, "apiVersion: v1\nentries:\n  shop: []\n  wheel: []\n")
	s.answer = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut || r.URL.Path != indexPath {
			return false
		}
		content, _ := io.ReadAll(r.Body)
		s.set(indexPath, string(content[:strings.Index(string(content), "  wheel:")]))
		w.WriteHeader(http.StatusNoContent)
		return true
	}
	err := chartpush.Push(t.Context(), readArchive(t, packChart(t)), s.URL+"/charts", updateIndex)
	checkError(t, err, "has stored only a part of it: the index is damaged")
}
