// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
)

// TestCancelingTransport checks that requests are canceled when the context of the operation
// is done, even while the response is being read.
func TestCancelingTransport(t *testing.T) {
	over := errors.New("the operation is over")
	for _, path := range []string{"/hangs", "/goes-on"} {
		t.Run(path, func(t *testing.T) {
			arrived := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if path == "/goes-on" {
					w.WriteHeader(http.StatusOK)
					_ = http.NewResponseController(w).Flush()
				}
				close(arrived)
				<-r.Context().Done()
			}))
			defer server.Close()
			operation, end := context.WithCancelCause(t.Context())
			defer end(nil)
			if path == "/hangs" {
				go func() { <-arrived; end(over) }()
			}
			client := &http.Client{Transport: &cancelingTransport{RoundTripper: server.Client().Transport, operation: operation}}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Do(r)
			if path == "/hangs" {
				if !errors.Is(err, over) {
					t.Errorf("got %v", err)
				}
				if response != nil {
					response.Body.Close()
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			end(over)
			if _, err := io.ReadAll(response.Body); err == nil {
				t.Error("the response body was read to its end")
			}
		})
	}
}

// TestCancelingTransportWhileRunning checks that requests are not affected before the context
// of the operation is done.
func TestCancelingTransportWhileRunning(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "well") }))
	defer server.Close()
	client := &http.Client{Transport: &cancelingTransport{RoundTripper: server.Client().Transport, operation: t.Context()}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err != nil || string(text) != "well" {
		t.Errorf("got %q, %v", text, err)
	}
}

// TestConfigIsLoadedOnce checks that the configuration is loaded once, and that every
// caller gets its own copy.
func TestConfigIsLoadedOnce(t *testing.T) {
	loaded := 0
	getter := cancelingGetter{&cachingGetter{
		RESTClientGetter:    countingGetter{loaded: &loaded},
		cancelWithOperation: func(rt http.RoundTripper) http.RoundTripper { return rt },
	}}
	for range 3 {
		config, err := getter.ToRESTConfig()
		if err != nil || config.Host != "http://api" || config.WrapTransport == nil {
			t.Fatalf("got %v, %v", config, err)
		}
		config.Host = "elsewhere"
	}
	if loaded != 1 {
		t.Errorf("loaded %d times", loaded)
	}
}

type countingGetter struct {
	genericclioptions.RESTClientGetter
	loaded *int
}

func (g countingGetter) ToRESTConfig() (*rest.Config, error) {
	*g.loaded++
	return &rest.Config{Host: "http://api"}, nil
}
