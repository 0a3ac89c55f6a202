// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartpush

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// checkRedirect rejects redirects to another server, and those that change the method, because
// they do not repeat an upload.
func (c *client) checkRedirect(next *http.Request, via []*http.Request) error {
	next.URL.User = nil // a server does not choose the credentials
	first, last := via[0], via[len(via)-1]
	e := &RedirectError{From: shownURL(last.URL), To: shownURL(next.URL), target: next.URL.String()}
	switch {
	case origin(next.URL) != origin(first.URL):
		return e
	case next.Method != first.Method:
		e.SameServer = true
		return e
	}
	return limitRedirects(next, via)
}

// limitRedirects follows redirects of downloads, without credentials that are in their URLs.
func limitRedirects(next *http.Request, via []*http.Request) error {
	const maxRedirects = 10
	next.URL.User = nil
	next.Header.Del("Referer") // it contains the query of the URL
	if len(via) >= maxRedirects {
		return fmt.Errorf("%s redirects more than %d times", shownURL(via[0].URL), maxRedirects)
	}
	return nil
}

// origin returns the scheme, host and port of a URL.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}
