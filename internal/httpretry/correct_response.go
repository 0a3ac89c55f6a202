// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package httpretry

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// maxClockError is the maximum error of the estimated time of the server (see serverClock).
const maxClockError = 2 * time.Second

// correctResponse corrects the final response to a request that was sent more than once. An
// earlier attempt may have succeeded although its response was lost. A later attempt to
// create an object then fails because the object exists, and a later attempt to delete an
// object fails because it does not exist. In these cases, correctResponse returns a response
// that reports success.
func (d *retrier) correctResponse(ctx context.Context, response *http.Response, err error) (*http.Response, error) {
	switch {
	case err != nil || !d.maybeApplied:
	case d.kind.createdName != "" && response.StatusCode == http.StatusConflict:
		return d.correctConflict(ctx, response)
	case d.request.Method == http.MethodDelete && response.StatusCode == http.StatusNotFound:
		response.StatusCode, response.Status = http.StatusOK, "200 OK"
		response.Header = http.Header{"Content-Type": {"application/json"}}
		response.Body = io.NopCloser(strings.NewReader(`{"kind":"Status","apiVersion":"v1","status":"Success"}`))
	}
	return response, err
}

// correctConflict does what correctResponse does, for a create request that failed because
// the object exists. It reads the object to find out whether an earlier attempt created it.
func (d *retrier) correctConflict(ctx context.Context, response *http.Response) (*http.Response, error) {
	at := *d.request.URL
	at.Path += "/" + url.PathEscape(d.kind.createdName)
	at.RawQuery = ""
	r, readErr := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), http.NoBody)
	if readErr != nil {
		return response, nil //nolint:nilerr // return the original response
	}
	r.Header.Set("Accept", d.request.Header.Get("Accept"))
	r.Header.Set("User-Agent", d.request.Header.Get("User-Agent"))
	read, readErr := d.newRetrier(r)
	if readErr != nil {
		return response, nil //nolint:nilerr // as above
	}
	existing, readErr := read.run(ctx)
	if readErr != nil || existing.StatusCode != http.StatusOK {
		return response, nil //nolint:nilerr // as above
	}
	text, readErr := io.ReadAll(existing.Body) // the body is already in memory
	if readErr != nil || !createdSince(text, d.startedAt) || isReleaseObject(d.kind.createdName) && !equalData(d.body, text) {
		return response, nil //nolint:nilerr // as above
	}
	existing.Body = io.NopCloser(bytes.NewReader(text))
	existing.StatusCode, existing.Status = http.StatusCreated, "201 Created"
	return existing, nil
}

// createdSince reports whether the object in a response body was created at or after since,
// a time on the clock of the server.
func createdSince(text []byte, since time.Time) bool {
	object, err := decodeMetadata(text)
	if err != nil {
		return false
	}
	made := object.GetCreationTimestamp()
	return !made.Time.Before(since.Add(-maxClockError))
}

// equalData reports whether the Secrets or ConfigMaps in two bodies have equal data. A
// stored release with equal data was created by this operation, because the data includes
// the lock holder.
func equalData(a, b []byte) bool {
	one, err := decodeObject(a)
	other, otherErr := decodeObject(b)
	if err != nil || otherErr != nil {
		return false
	}
	switch one := one.(type) {
	case *corev1.Secret:
		other, same := other.(*corev1.Secret)
		return same && equality.Semantic.DeepEqual(one.Data, other.Data)
	case *corev1.ConfigMap:
		other, same := other.(*corev1.ConfigMap)
		return same && equality.Semantic.DeepEqual(one.Data, other.Data)
	}
	return false
}

func decodeObject(body []byte) (runtime.Object, error) {
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	return object, err
}

// serverClock estimates the current time of the server from the Date header of its last
// response.
type serverClock struct {
	mu sync.Mutex
	// date is the time in the header, and receivedAt the local time when it arrived.
	date, receivedAt time.Time
}

// set updates the clock. text is the value of a Date header, or empty.
func (c *serverClock) set(text string) {
	date, err := http.ParseTime(text)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.date, c.receivedAt = date, time.Now()
}

// now returns the estimated time of the server, or the local time if the server has not
// responded yet.
func (c *serverClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.receivedAt.IsZero() {
		return time.Now()
	}
	return c.date.Add(time.Since(c.receivedAt))
}
