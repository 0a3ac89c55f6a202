// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartserver_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"helm.sh/helm/v3/pkg/repo"

	"github.com/ordered-helm/helm/pkg/chart/loader"
	"github.com/ordered-helm/helm/test/chartserver"
)

const chartYAML = "apiVersion: v3\nname: shop\nversion: 1.2.3\nannotations:\n  helm.sh/depends-on/subcharts: [db]\n"

// published returns the directory of a repository with one chart.
func published(t *testing.T) string {
	t.Helper()
	source, folder := filepath.Join(t.TempDir(), "shop"), t.TempDir()
	if err := os.Mkdir(source, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(source, "Chart.yaml"), []byte(chartYAML), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := chartserver.Publish(loader.LoadDir, folder, source); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestPublish(t *testing.T) {
	first, second := published(t), published(t)
	for _, name := range []string{"index.yaml", "shop-1.2.3.tgz"} {
		one, err := os.ReadFile(filepath.Join(first, name))
		if err != nil {
			t.Fatal(err)
		}
		other, err := os.ReadFile(filepath.Join(second, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(one, other) {
			t.Errorf("%s is not the same the second time", name)
		}
	}
	index, err := repo.LoadIndexFile(filepath.Join(first, "index.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	entry, err := index.Get("shop", "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	if entry.URLs[0] != "shop-1.2.3.tgz" || !entry.Created.Equal(chartserver.Created) || entry.Digest == "" {
		t.Errorf("entry is %+v", entry)
	}
}

func TestServe(t *testing.T) {
	folder := published(t)
	tests := []struct {
		name               string
		options            chartserver.Options
		username, password string
		trust, identify    bool
		fails              bool
		status             int
	}{
		{name: "open", status: http.StatusOK},
		{name: "password", options: chartserver.Options{Username: "ann", Password: "secret"}, username: "ann", password: "secret", status: http.StatusOK},
		{name: "wrong password", options: chartserver.Options{Username: "ann", Password: "secret"}, username: "ann", password: "guess", status: http.StatusUnauthorized},
		{name: "no password", options: chartserver.Options{Username: "ann", Password: "secret"}, status: http.StatusUnauthorized},
		{name: "TLS", options: chartserver.Options{TLS: true}, trust: true, status: http.StatusOK},
		{name: "TLS without trust", options: chartserver.Options{TLS: true}, fails: true},
		{name: "client certificate", options: chartserver.Options{ClientCertificates: true}, trust: true, identify: true, status: http.StatusOK},
		{name: "no client certificate", options: chartserver.Options{ClientCertificates: true}, trust: true, fails: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := chartserver.Start(t, folder, tt.options)
			client := newClient(t, server, tt.trust, tt.identify)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/index.yaml", nil)
			if err != nil {
				t.Fatal(err)
			}
			if tt.username != "" {
				request.SetBasicAuth(tt.username, tt.password)
			}
			response, err := client.Do(request)
			if tt.fails {
				if err == nil {
					t.Fatal("it was answered")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if response.StatusCode != tt.status {
				t.Errorf("status is %d, want %d", response.StatusCode, tt.status)
			}
			asked := server.Requests()
			if len(asked) != 1 || asked[0].Path != "/index.yaml" || asked[0].Password != tt.password || (asked[0].Client != "") != tt.identify {
				t.Errorf("recorded %+v", asked)
			}
		})
	}
}

func newClient(t *testing.T, server *chartserver.Server, trust, identify bool) *http.Client {
	t.Helper()
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	if trust {
		authority, err := os.ReadFile(server.CAFile)
		if err != nil {
			t.Fatal(err)
		}
		config.RootCAs.AppendCertsFromPEM(authority)
	}
	if identify {
		pair, err := tls.LoadX509KeyPair(server.CertFile, server.KeyFile)
		if err != nil {
			t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	transport := &http.Transport{TLSClientConfig: config}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestAnswer(t *testing.T) {
	server := chartserver.Start(t, published(t), chartserver.Options{})
	client := newClient(t, server, false, false)
	status := func() int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/index.yaml", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response.StatusCode
	}
	server.Answer("/index.yaml", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	if got := status(); got != http.StatusTeapot {
		t.Errorf("status is %d, want the answer's", got)
	}
	server.Answer("/index.yaml", nil)
	if got := status(); got != http.StatusOK {
		t.Errorf("status is %d, want the file's", got)
	}
	server.Forget()
	if asked := server.Requests(); len(asked) != 0 {
		t.Errorf("remembered %+v", asked)
	}
}
