// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartpush_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/chartpush"
)

// TestPost checks the request to ChartMuseum's API.
func TestPost(t *testing.T) {
	s := startFileServer(t)
	parts := map[string]string{}
	s.answer = func(w http.ResponseWriter, r *http.Request) bool {
		form, err := r.MultipartReader()
		for err == nil {
			var part interface {
				io.Reader
				FormName() string
				FileName() string
			}
			if part, err = form.NextPart(); err == nil {
				content, _ := io.ReadAll(part)
				parts[part.FormName()+" "+part.FileName()] = string(content)
			}
		}
		if err.Error() != io.EOF.Error() { // the error of a form without an end contains io.EOF
			t.Errorf("the form does not end: %v", err)
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"saved":true}`)
		return true
	}
	if err := chartpush.Push(t.Context(), signedArchive(t), s.URL, chartpush.Options{}); err != nil {
		t.Fatal(err)
	}
	if len(parts) != 2 || !strings.HasPrefix(parts["chart shop-1.2.3.tgz"], "\x1f\x8b") || !strings.HasPrefix(parts["prov shop-1.2.3.tgz.prov"], "-----BEGIN PGP SIGNED MESSAGE") {
		t.Errorf("the form has %q", parts)
	}
}

// TestAPIURL checks where ChartMuseum's API is expected.
func TestAPIURL(t *testing.T) {
	tests := []struct{ name, path, context, want string }{
		{"server", "", "", "/api/charts"},
		{"path", "/team/a/", "", "/team/a/api/charts"},
		{"context path below", "/team", "ctx", "/team/ctx/api/charts"},
		{"context path is the path", "/ctx", "/ctx/", "/ctx/api/charts"},
		{"several repositories", "/ctx/team/a", "/ctx", "/ctx/api/team/a/charts"},
		{"several repositories at the root", "/team/a", "/", "/api/team/a/charts"},
		{"similar path", "/ctx2/team", "/ctx", "/ctx2/team/ctx/api/charts"},
		{"escaped path", "/projects/a%2Fb/helm/stable", "/projects/a%2Fb/helm", "/projects/a%2Fb/helm/api/stable/charts"},
		{"query", "/charts?key=planted-key", "", "/charts/api/charts?key=planted-key"},
	}
	archive := readArchive(t, packChart(t))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := startFileServer(t)
			s.answer = func(w http.ResponseWriter, _ *http.Request) bool {
				w.WriteHeader(http.StatusCreated)
				return true
			}
			if err := chartpush.Push(t.Context(), archive, s.URL+tt.path, chartpush.Options{ContextPath: tt.context}); err != nil {
				t.Fatal(err)
			}
			if got := s.seen(); len(got) != 1 || got[0] != "POST "+tt.want {
				t.Errorf("requests are %q, want POST %s", got, tt.want)
			}
		})
	}
}

// TestPostAnswers checks which answers of a server mean that it has saved the chart.
func TestPostAnswers(t *testing.T) {
	tests := []struct {
		name        string
		status      int
		contentType string
		body        string
		force       bool
		want        string // part of the error, or empty
	}{
		{"saved", 201, "application/json", `{"saved":true}`, false, ""},
		{"created, without a body", 201, "", "", false, ""},
		{"created, with a message", 201, "application/json", `{"message":"201 Created"}`, false, ""},
		{"saved, with status 200", 200, "application/json", `{"saved":true}`, false, ""},
		{"not saved", 201, "application/json", `{"saved":false,"error":"disk"}`, false, "has not saved the chart (disk)"},
		{"another program", 200, "application/json", `{"status":"ok"}`, false, "does not say that it has saved the chart: check the URL"},
		{"accepted for later", 202, "", "", false, "does not say that it has saved the chart"},
		{"login page", 200, "text/html; charset=utf-8", "<html><form>", false, "HTML page, as login pages are: the chart was not stored"},
		{"login page with status 201", 201, "text/html", "<html><form>", false, "HTML page"},
		{"conflict", 409, "application/json", `{"error":"shop-1.2.3.tgz already exists"}`, false, "chart shop 1.2.3 already exists at URL (shop-1.2.3.tgz already exists): to replace it, use --force"},
		{"conflict with force", 409, "", "", true, "the server does not allow --force to replace it"},
		{"no API", 404, "text/html", "<html>", false, "404 Not Found: there is no ChartMuseum API: to store the files with PUT, use --http-method put"},
		{"no POST", 405, "", "", false, "405 Method Not Allowed: there is no ChartMuseum API: to store the files with PUT, use --http-method put"},
		{"no credentials", 401, "", "", false, "401 Unauthorized: use --username and --password, or --access-token"},
		{"forbidden", 403, "", "", false, "403 Forbidden: the account is not allowed to do this"},
		{"too large", 413, "", "", false, "which is more than the server or a proxy accepts: raise its limit"},
		{"server error", 500, "application/json", `{"error":"broken\u001b[31m\nstorage"}`, false, "500 Internal Server Error (broken storage): the server failed: try again later"},
		{"server unavailable", 503, "text/plain", "maintenance", false, "503 Service Unavailable (maintenance)"},
		{"no space", 507, "", "", false, "507 Insufficient Storage: the server has no space left"},
		{"other status", 422, "application/json", `{"error":"no chart"}`, false, "422 Unprocessable Entity (no chart)"},
	}
	archive := readArchive(t, packChart(t))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := startFileServer(t)
			s.answer = func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Content-Type", tt.contentType)
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
				return true
			}
			err := chartpush.Push(t.Context(), archive, s.URL, chartpush.Options{Force: tt.force})
			checkError(t, err, strings.ReplaceAll(tt.want, "URL (", s.URL+" ("))
			query := ""
			if tt.force {
				query = "?force"
			}
			if got := s.seen(); len(got) != 1 || got[0] != "POST /api/charts"+query {
				t.Errorf("requests are %q: there must be only one, with %q", got, query)
			}
		})
	}
}

// checkError checks that an error contains a text, or, if that is empty, that there is none.
func checkError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("unexpected error: %v", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("error is %v\nwant %s", err, want)
	}
}

func TestErrorTypes(t *testing.T) {
	s := startFileServer(t)
	status := 0
	s.answer = func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(status)
		return true
	}
	archive := readArchive(t, packChart(t))
	status = http.StatusConflict
	if exists, ok := errors.AsType[*chartpush.ExistsError](chartpush.Push(t.Context(), archive, s.URL, chartpush.Options{})); !ok || exists.Chart != "shop 1.2.3" {
		t.Errorf("conflict: %+v", exists)
	}
	status = http.StatusInsufficientStorage
	if failed, ok := errors.AsType[*chartpush.StatusError](chartpush.Push(t.Context(), archive, s.URL, chartpush.Options{})); !ok || failed.StatusCode != status {
		t.Errorf("no space: %+v", failed)
	}
}
