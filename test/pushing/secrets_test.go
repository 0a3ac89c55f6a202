// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package pushing

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/chartserver"
)

// TestPlantedCredentials pushes with credentials from every source, to servers that repeat what they
// get in every way, and checks that helm never prints the credentials, and never sends them to
// another server.
func TestPlantedCredentials(t *testing.T) {
	t.Parallel()
	const planted = "planted-7f3e91c2"
	elsewhere := chartserver.Start(t, "", chartserver.Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })})
	repeat := func(status int, contentType string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
			_, password, _ := r.BasicAuth()
			_, _ = fmt.Fprintf(w, `{"error": %q}`, r.Header.Get("Authorization")+" "+password+" "+r.URL.String())
		}
	}
	servers := map[string]http.HandlerFunc{
		"rejected": repeat(403, "application/json"),
		"conflict": repeat(409, "application/json"),
		"failed":   repeat(500, "text/plain"),
		"login":    repeat(200, "text/html"),
		"other":    repeat(200, "application/json"),
		"redirected": func(w http.ResponseWriter, r *http.Request) {
			_, password, _ := r.BasicAuth()
			http.Redirect(w, r, strings.Replace(elsewhere.URL, "://", "://anna:"+password+"@", 1)+"/"+"?token="+password, http.StatusTemporaryRedirect)
		},
		"broken": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			panic(http.ErrAbortHandler)
		},
		"museum": (&chartserver.Museum{Folder: t.TempDir()}).ServeHTTP,
	}
	for name, handler := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := chartserver.Start(t, "", chartserver.Options{Handler: handler})
			w := newWorkspace(t)
			archive := w.pack("1.0.0")
			withUser := strings.Replace(s.URL, "://", "://anna:"+planted+"@", 1)
			w.write("home/.config/helm/repositories.yaml", fmt.Sprintf(`apiVersion: v1
repositories:
- {name: fields, url: '%s', username: anna, password: %s}
- {name: address, url: '%s'}
- {name: query, url: '%s?key=%s'}
`, s.URL, planted, withUser, s.URL, planted), 0o600)
			w.env = append(w.env, "HELM_DEBUG=true")
			for _, remote := range []string{"fields", "address", "query", withUser, s.URL + " --username anna --password " + planted, s.URL + " --access-token " + planted} {
				for _, method := range []string{"post", "put --update-index"} {
					w.run("push " + archive + " " + remote + " --debug --http-method " + method)
				}
			}
			w.env = append(w.env, "HELM_REPO_ACCESS_TOKEN="+planted)
			w.run("push " + archive + " " + s.URL + " -v 9")
			w.run("push " + archive + " " + s.URL)
			for _, secret := range []string{planted, base64.StdEncoding.EncodeToString([]byte("anna:" + planted))} {
				if at := strings.Index(w.output.String(), secret); at >= 0 {
					t.Errorf("%s is printed:\n%s", secret, w.output.String()[max(0, at-300):at+len(secret)])
				}
			}
			sent := 0
			for _, r := range s.Requests() {
				if r.Header.Get("Authorization") != "" {
					sent++
				}
			}
			if sent == 0 {
				t.Error("no credentials were sent")
			}
		})
	}
	t.Cleanup(func() {
		for _, r := range elsewhere.Requests() {
			if credentials := r.Header.Get("Authorization"); credentials != "" || r.Method != http.MethodGet {
				t.Errorf("another server got %s %s %q", r.Method, r.Path, credentials)
			}
		}
	})
}
