// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"time"
)

// versionAge is the age after which the version of the API server is read again.
const versionAge = 10 * time.Second

// maxVersionBytes is the maximum size of a response that is cached.
const maxVersionBytes = 64 << 10

// versionCache remembers the version of the API server, which each action of Helm reads several times, also
// to find out whether the server responds.
type versionCache struct {
	mu   sync.Mutex
	body []byte
	// header and read are those of the response with the body.
	header http.Header
	read   time.Time
}

// wrap returns a round tripper that answers requests for the version from the cache.
func (c *versionCache) wrap(rt http.RoundTripper) http.RoundTripper {
	return &versionTransport{rt, c}
}

type versionTransport struct {
	http.RoundTripper
	cache *versionCache
}

func (t *versionTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet || r.URL.Path != "/version" {
		return t.RoundTripper.RoundTrip(r)
	}
	if cached := t.cache.response(r); cached != nil {
		return cached, nil
	}
	response, err := t.RoundTripper.RoundTrip(r)
	if err != nil || response.StatusCode != http.StatusOK {
		return response, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxVersionBytes))
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	t.cache.store(response.Header, body)
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// WrappedRoundTripper lets client-go find the wrapped round tripper.
func (t *versionTransport) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

// response returns the cached response; nil if there is none that is recent.
func (c *versionCache) response(r *http.Request) *http.Response {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.body == nil || time.Since(c.read) > versionAge {
		return nil
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: c.header.Clone(), Body: io.NopCloser(bytes.NewReader(c.body)), ContentLength: int64(len(c.body)), Request: r,
	}
}

func (c *versionCache) store(header http.Header, body []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.body, c.header, c.read = body, header.Clone(), time.Now()
}
