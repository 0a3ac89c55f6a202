// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package pushing

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/chartserver"
)

// TestChartMuseum pushes a chart to servers with ChartMuseum's API, by URL and by the name of a
// repository, and checks that clients can use it.
func TestChartMuseum(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		options chartserver.Options
		context string // the context path
		// flags returns the flags for connecting to a server, which repo add stores too.
		flags func(s *chartserver.Server) string
	}{
		{name: "open"},
		{name: "password", options: chartserver.Options{Username: "anna", Password: "right-password"}, flags: func(*chartserver.Server) string {
			return "--username anna --password right-password"
		}},
		{name: "TLS", options: chartserver.Options{TLS: true}, flags: func(s *chartserver.Server) string { return "--ca-file " + s.CAFile }},
		{name: "client certificate", options: chartserver.Options{ClientCertificates: true}, flags: func(s *chartserver.Server) string {
			return "--ca-file " + s.CAFile + " --cert-file " + s.CertFile + " --key-file " + s.KeyFile
		}},
		{name: "context path", context: "/helm/v1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			first, second := w.pack("1.0.0"), w.pack("1.1.0")
			options := tt.options
			options.Handler = &chartserver.Museum{Folder: t.TempDir(), ContextPath: tt.context}
			s := chartserver.Start(t, "", options)
			flags, address := "", s.URL+tt.context
			if tt.flags != nil {
				flags = tt.flags(s)
				w.expectError("push "+first+" "+address, s.URL)
			}
			out := w.mustRun("push " + first + " " + address + " " + flags)
			if !strings.HasPrefix(out, "Pushed: "+first+" to "+address+"\nDigest: sha256:") {
				t.Errorf("helm push printed\n%s", out)
			}
			w.mustRun("repo add shops " + address + " " + flags)
			w.expectUsable("1.0.0")
			w.mustRun("push " + second + " shops")
			w.expectUsable("1.1.0")
			w.expectError("push "+second+" shops", "chart shop 1.1.0 already exists at "+address, "(shop-1.1.0.tgz already exists)", "to replace it, use --force")
			w.mustRun("push " + second + " shops --force")
			w.expectError("push "+w.pack("1.2.0")+" shops --http-method put", "404 Not Found", "to use ChartMuseum's API, use --http-method post")
		})
	}
}

// TestUnverifiedServer checks that a certificate that cannot be verified is accepted only on request.
func TestUnverifiedServer(t *testing.T) {
	t.Parallel()
	s, w := chartserver.Start(t, "", chartserver.Options{TLS: true, Handler: &chartserver.Museum{Folder: t.TempDir()}}), newWorkspace(t)
	archive := w.pack("1.0.0")
	w.expectError("push "+archive+" "+s.URL, "failed to verify certificate")
	w.mustRun("push " + archive + " " + s.URL + " --insecure-skip-tls-verify")
	w.mustRun("repo add shops " + s.URL + " --insecure-skip-tls-verify")
	w.mustRun("push " + archive + " shops --force")
}

// TestChartMuseumWithSeveralRepositories checks --context-path for a server on which the name of
// the repository follows /api.
func TestChartMuseumWithSeveralRepositories(t *testing.T) {
	t.Parallel()
	w, got := newWorkspace(t), make(chan string, 1)
	s := chartserver.Start(t, "", chartserver.Options{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		got <- r.URL.Path
		rw.WriteHeader(http.StatusCreated)
	})})
	w.mustRun("push " + w.pack("1.0.0") + " " + s.URL + "/helm/team/a --context-path /helm")
	if path := <-got; path != "/helm/api/team/a/charts" {
		t.Errorf("pushed to %s", path)
	}
}

// TestAccessToken checks where an access token comes from, and what takes precedence over it.
func TestAccessToken(t *testing.T) {
	t.Parallel()
	const token = "the-access-token"
	s := chartserver.Start(t, "", chartserver.Options{AccessToken: token, Handler: &chartserver.Museum{Folder: t.TempDir()}})
	w := newWorkspace(t)
	archive := w.pack("1.0.0")
	w.expectError("push "+archive+" "+s.URL, "401 Unauthorized", "--access-token")
	w.expectError("push "+archive+" "+s.URL+" --access-token wrong-token", "401 Unauthorized", "the server does not accept the credentials")
	w.mustRun("push " + archive + " " + s.URL + " --access-token " + token)
	w.env = append(w.env, "HELM_REPO_ACCESS_TOKEN="+token)
	w.expectError("push "+archive+" "+s.URL, "already exists")
	w.mustRun("push " + archive + " " + s.URL + " --force")
	w.expectError("push "+archive+" "+s.URL+" --username anna --password password", "401 Unauthorized")
	w.expectError("push "+archive+" "+s.URL+" --username anna --access-token "+token, "use either an access token, or a user name and password")
	for _, r := range s.Requests() {
		if r.Username != "" && strings.Contains(r.Header.Get("Authorization"), token) {
			t.Errorf("request with two kinds of credentials: %+v", r)
		}
	}
}

// TestPushThroughProxy checks that the proxy of the environment is used.
func TestPushThroughProxy(t *testing.T) {
	t.Parallel()
	proxy := chartserver.Start(t, "", chartserver.Options{Handler: &chartserver.Museum{Folder: t.TempDir()}})
	w := newWorkspace(t)
	w.env = append(w.env, "http_proxy="+proxy.URL)
	w.mustRun("push " + w.pack("1.0.0") + " http://charts.example.com")
	w.mustRun("repo add shops http://charts.example.com")
	w.expectUsable("1.0.0")
}

// TestPushOfArchiveFromOtherTool checks that an archive that stock Helm cannot read, because
// another tool has packaged it, is uploaded so that it can, or rejected if it is signed.
func TestPushOfArchiveFromOtherTool(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write("source/shop/Chart.yaml", "apiVersion: v2\nname: shop\nversion: 1.0.0\nannotations:\n  helm.sh/depends-on/subcharts: []\n", 0o600)
	packed, err := chartserver.Pack(w.path("source/shop"))
	if err != nil {
		t.Fatal(err)
	}
	w.write("shop-1.0.0.tgz", string(packed), 0o600)
	s := chartserver.Start(t, "", chartserver.Options{Handler: &chartserver.Museum{Folder: t.TempDir()}})
	w.mustRun("push shop-1.0.0.tgz " + s.URL) // the server loads it with Helm's package
	if _, err := w.key.Sign(w.path("shop-1.0.0.tgz")); err == nil {
		t.Error("stock Helm can read the archive")
	}
	w.write("shop-1.0.0.tgz.prov", "signed by another tool", 0o600)
	w.expectError("push shop-1.0.0.tgz "+s.URL+" --force", "cannot be pushed unchanged", "package and sign the chart again")
}
