// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

const found = `{"data":[{"id":"example/shop","artifactHub":{"packageUrl":"https://hub.example/shop"},
 "attributes":{"description":"A shop","repo":{"name":"example","url":"https://example.com"},"keywords":"no list"},
 "relationships":{"latestChartVersion":{"data":{"version":"1.2.3","app_version":"4","created":"never"}}}}]}`

func TestSearch(t *testing.T) {
	tests := []struct {
		name   string
		status int
		body   string
		want   string
		fails  bool
	}{
		{name: "found", status: http.StatusOK, body: found, want: `[{"id":"example/shop","artifactHub":{"packageUrl":"https://hub.example/shop"},` +
			`"attributes":{"description":"A shop","repo":{"name":"example","url":"https://example.com"}},` +
			`"relationships":{"latestChartVersion":{"data":{"version":"1.2.3","app_version":"4"}}}}]`},
		{name: "nothing found", status: http.StatusOK, body: `{"data":[]}`, want: `[]`},
		{name: "a field of another type", status: http.StatusOK, body: `{"data":[{"id":"a","attributes":{"description":5}}]}`, want: `[{"id":"a","artifactHub":{"packageUrl":""},"attributes":{"description":"","repo":{"name":"","url":""}},` +
			`"relationships":{"latestChartVersion":{"data":{"version":"","app_version":""}}}}]`},
		{name: "no JSON", status: http.StatusOK, body: "<html>log in first</html>", fails: true},
		{name: "cut short", status: http.StatusOK, body: found[:40], fails: true},
		{name: "refused", status: http.StatusForbidden, body: `{"data":[]}`, fails: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if got, want := r.URL.RequestURI(), "/base/api/chartsvc/v1/charts/search?q=a+b%26c"; got != want {
					t.Errorf("asked for %s, want %s", got, want)
				}
				if got := r.UserAgent(); got != "test/1" {
					t.Errorf("asked as %s", got)
				}
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.body))
			}))
			defer server.Close()
			client, err := New(server.URL+"/base/", "test/1")
			if err != nil {
				t.Fatal(err)
			}
			got, err := client.Search(t.Context(), "a b&c")
			if (err != nil) != tt.fails {
				t.Fatalf("error is %v", err)
			}
			if text, err := json.Marshal(got); err != nil || !tt.fails && string(text) != tt.want {
				t.Errorf("found %s, %v, want %s", text, err, tt.want)
			}
		})
	}
}

func TestSearchEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer server.Close()
	client, err := New(server.URL, "test/1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Search(ctx, "shop"); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

func TestNew(t *testing.T) {
	if _, err := New("hub.example", "test/1"); !errors.Is(err, ErrNoHost) {
		t.Errorf("error is %v, want ErrNoHost", err)
	}
	if _, err := New("https://%zz", "test/1"); err == nil {
		t.Error("an address that is none was taken")
	}
}
