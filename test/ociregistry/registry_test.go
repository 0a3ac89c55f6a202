// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package ociregistry

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestAuthentication(t *testing.T) {
	users := map[string]string{"anna": "right"}
	tests := []struct {
		name     string
		options  Options
		password string
		trust    bool // the client trusts the authority
		show     bool // the client presents its certificate
		want     int  // 0: no answer
	}{
		{name: "open", want: http.StatusOK},
		{name: "no password", options: Options{Users: users}, want: http.StatusUnauthorized},
		{name: "wrong password", options: Options{Users: users}, password: "wrong", want: http.StatusUnauthorized},
		{name: "right password", options: Options{Users: users}, password: "right", want: http.StatusOK},
		{name: "TLS", options: Options{TLS: true}, trust: true, want: http.StatusOK},
		{name: "TLS unknown to the client", options: Options{TLS: true}},
		{name: "TLS and password", options: Options{TLS: true, Users: users}, trust: true, password: "right", want: http.StatusOK},
		{name: "client certificate", options: Options{ClientCertificates: true}, trust: true, show: true, want: http.StatusOK},
		{name: "no client certificate", options: Options{ClientCertificates: true}, trust: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Start(t, tt.options)
			client := clientOf(t, r, tt.trust, tt.show)
			defer client.CloseIdleConnections()
			scheme := "http://"
			if tt.options.TLS || tt.options.ClientCertificates {
				scheme = "https://"
			}
			if !strings.HasPrefix(r.Host(), "127.0.0.1:") {
				t.Errorf("it listens on %s", r.Host())
			}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+r.Host()+"/v2/", nil)
			if err != nil {
				t.Fatal(err)
			}
			if tt.password != "" {
				request.SetBasicAuth("anna", tt.password)
			}
			response, err := client.Do(request)
			if tt.want == 0 {
				if err == nil {
					t.Fatalf("answered with %s", response.Status)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := response.Body.Close(); err != nil {
				t.Error(err)
			}
			if response.StatusCode != tt.want {
				t.Errorf("status %s, want %d", response.Status, tt.want)
			}
		})
	}
}

func clientOf(t *testing.T, r *Registry, trust, show bool) *http.Client {
	t.Helper()
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if trust && r.CAFile() != "" {
		pem, err := os.ReadFile(r.CAFile())
		if err != nil {
			t.Fatal(err)
		}
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM(pem)
	}
	if show {
		pair, err := tls.LoadX509KeyPair(r.ClientCertFile(), r.ClientKeyFile())
		if err != nil {
			t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
}

// TestStopLeavesNoGoroutines checks that no goroutines of a registry are left after its test.
func TestStopLeavesNoGoroutines(t *testing.T) {
	for _, o := range []Options{{}, {TLS: true, Users: map[string]string{"anna": "right"}}} {
		t.Run("", func(t *testing.T) {
			r := Start(t, o)
			client := clientOf(t, r, true, false)
			defer client.CloseIdleConnections()
			scheme := map[bool]string{false: "http://", true: "https://"}[o.TLS]
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+r.Host()+"/v2/_catalog", nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			if err := response.Body.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	// The goroutines of the connections end by themselves after the connections are closed.
	var stacks string
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); runtime.Gosched() {
		buffer := make([]byte, 1<<20)
		stacks = string(buffer[:runtime.Stack(buffer, true)])
		if !strings.Contains(stacks, "net/http") && !strings.Contains(stacks, "distribution/v3") {
			return
		}
	}
	t.Errorf("still running:\n%s", stacks)
}
