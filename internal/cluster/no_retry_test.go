// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"io"
	"net/http"
	"testing"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (c roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return c(r) }

func TestNoRetryTransport(t *testing.T) {
	other := errors.New("no route to host")
	for _, c := range []struct {
		name, url string
		err, want error
	}{
		{"watch without a response", "http://api/pods?watch=true", io.EOF, errNoResponse},
		{"watch that fails otherwise", "http://api/pods?watch=true", other, other},
		{"read without a response", "http://api/pods/x", io.EOF, errNoResponse},
		{"watch that is granted", "http://api/pods?watch=true", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			response, err := noRetryTransport{roundTripper(func(*http.Request) (*http.Response, error) {
				if c.err != nil {
					return nil, c.err
				}
				return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
			})}.RoundTrip(r)
			if !errors.Is(err, c.want) || (err == nil) != (response != nil) {
				t.Errorf("got %v, %v, want %v", response, err, c.want)
			}
			if response != nil {
				response.Body.Close()
			}
		})
	}
}
