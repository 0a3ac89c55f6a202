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

// clockMargin is by how much the server's clock may be wrong: it tells whole seconds.
const clockMargin = 2 * time.Second

// settled answers a request that was sent twice as the first one would have been answered
// that did what was asked: where the second finds an object that was just created, or none
// that is to be deleted.
func (d *delivery) settled(ctx context.Context, answer *http.Response, err error) (*http.Response, error) {
	switch {
	case err != nil || !d.unsure:
	case d.kind.creates != "" && answer.StatusCode == http.StatusConflict:
		return d.created(ctx, answer)
	case d.request.Method == http.MethodDelete && answer.StatusCode == http.StatusNotFound:
		answer.StatusCode, answer.Status = http.StatusOK, "200 OK"
		answer.Header = http.Header{"Content-Type": {"application/json"}}
		answer.Body = io.NopCloser(strings.NewReader(`{"kind":"Status","apiVersion":"v1","status":"Success"}`))
	}
	return answer, err
}

// created looks whether an object that is there is the one that was to be created.
func (d *delivery) created(ctx context.Context, answer *http.Response) (*http.Response, error) {
	at := *d.request.URL
	at.Path += "/" + url.PathEscape(d.kind.creates)
	at.RawQuery = ""
	r, readErr := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), http.NoBody)
	if readErr != nil {
		return answer, nil //nolint:nilerr // what the server said stands
	}
	r.Header.Set("Accept", d.request.Header.Get("Accept"))
	r.Header.Set("User-Agent", d.request.Header.Get("User-Agent"))
	look, readErr := d.prepare(r)
	if readErr != nil {
		return answer, nil //nolint:nilerr // as above
	}
	found, readErr := look.run(ctx)
	if readErr != nil || found.StatusCode != http.StatusOK {
		return answer, nil //nolint:nilerr // as above
	}
	text, readErr := io.ReadAll(found.Body) // which is in memory
	if readErr != nil || !madeSince(text, d.began) || isRecord(d.kind.creates) && !haveSameData(d.body, text) {
		return answer, nil //nolint:nilerr // as above
	}
	found.Body = io.NopCloser(bytes.NewReader(text))
	found.StatusCode, found.Status = http.StatusCreated, "201 Created"
	return found, nil
}

// madeSince reports whether an object was created since a time.
func madeSince(text []byte, since time.Time) bool {
	object, err := metadataIn(text)
	if err != nil {
		return false
	}
	made := object.GetCreationTimestamp()
	return !made.Time.Before(since.Add(-clockMargin))
}

// haveSameData reports whether two Secrets or ConfigMaps have the same data: records of a
// release that two operations create differ in who does.
func haveSameData(a, b []byte) bool {
	one, err := objectIn(a)
	other, otherErr := objectIn(b)
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

// objectIn reads a whole object in a body.
func objectIn(body []byte) (runtime.Object, error) {
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	return object, err
}

// serverClock is what time it is on the server, as its last answer said.
type serverClock struct {
	mu   sync.Mutex
	date time.Time
	seen time.Time
}

func (c *serverClock) set(text string) {
	date, err := http.ParseTime(text)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.date, c.seen = date, time.Now()
}

// now is this machine's time while the server has told none.
func (c *serverClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen.IsZero() {
		return time.Now()
	}
	return c.date.Add(time.Since(c.seen))
}
