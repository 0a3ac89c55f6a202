// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartsource

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestAllowedURLs checks to which URLs requests are sent with the flag --allow-chart-source:
//   - "it applies to redirects, too, and to the server that issues tokens for a registry"
func TestAllowedURLs(t *testing.T) {
	allowed := []string{"https://charts.example.com/team", "oci://registry.example.com/charts", "https://tokens.example.com/token"}
	for url, want := range map[string]bool{
		"https://charts.example.com/team/index.yaml":             true,
		"https://charts.example.com/team":                        true,
		"https://charts.example.com/team2/index.yaml":            false,
		"https://charts.example.com/team/../other/a.tgz":         false,
		"http://charts.example.com/team/index.yaml":              false,
		"https://charts.example.com:8443/team/a.tgz":             false,
		"https://charts.example.com.other/team/a.tgz":            false,
		"https://registry.example.com/v2/":                       true,
		"https://registry.example.com/v2/charts/shop/tags/list":  true,
		"https://registry.example.com/v2/charts2/shop/tags/list": false,
		"https://registry.example.com/charts/shop":               false,
		"https://tokens.example.com/token?scope=repository:shop": true,
		"https://other-tokens.example.com/token":                 false,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = newTransport(t.Context(), Options{Allowed: allowed}, &credentials{}).checkURL(r)
		if _, refused := errors.AsType[*refusedError](err); refused == want {
			t.Errorf("%s: got %v", url, err)
		}
	}
}

// TestLocalAddresses checks which addresses are local:
//   - "Charts are not downloaded from loopback and link-local addresses and from the metadata services of cloud providers"
func TestLocalAddresses(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1": true, "127.9.9.9": true, "::1": true, "::ffff:127.0.0.1": true, "0.0.0.0": true, "::": true, "169.254.169.254": true, "fe80::1": true, "224.0.0.1": true,
		"fd00:ec2::254": true, "100.100.100.200": true, "168.63.129.16": true, "192.0.0.192": true,
		"10.0.0.1": false, "192.168.0.1": false, "fd00::1": false, "8.8.8.8": false, "2001:db8::1": false,
	} {
		if got := isLocal(net.ParseIP(address)); got != want {
			t.Errorf("%s: got %t, want %t", address, got, want)
		}
	}
}

// TestDownloadEnds checks that a download ends with its context, whose timeout is 2 minutes, and at its limit.
func TestDownloadEnds(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			_, _ = w.Write([]byte(strings.Repeat("x", 1<<20)))
			return
		}
		<-r.Context().Done()
	}))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	get := func(limits *limitedTransport, path string) error {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := limits.transport.RoundTrip(r)
		if err == nil {
			_, err = response.Body.Read(make([]byte, 1))
			for err == nil {
				_, err = response.Body.Read(make([]byte, 4096))
			}
			_ = response.Body.Close()
		}
		return limits.explain(err)
	}
	limits := newTransport(ctx, Options{AllowLocal: true, MaxBytes: 1 << 10}, &credentials{})
	if err := get(limits, "/long"); err == nil || !strings.Contains(err.Error(), "larger than 1024 bytes") {
		t.Errorf("got the error %v", err)
	}
	result := make(chan error, 1)
	hanging := newTransport(ctx, Options{AllowLocal: true, MaxBytes: 1 << 10}, &credentials{})
	go func() { result <- get(hanging, "/hanging") }()
	cancel()
	if err := <-result; err == nil {
		t.Error("the download has not failed")
	}
}
