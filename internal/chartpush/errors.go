// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartpush

import (
	"fmt"
	"net/http"
	"strings"
)

// ExistsError reports that the server already has a chart of the same name and version.
type ExistsError struct {
	// Chart is the name and version of the chart, and URL the address at which it exists.
	Chart, URL string
	// Identical is true if the server is known to have the same archive.
	Identical bool
	// Forced is true if the server refused to replace the chart.
	Forced bool
	// Message is what the server says. It can be empty.
	Message string
}

func (e *ExistsError) Error() string {
	var content, remedy string
	if e.Identical {
		content = ", with the same content"
	}
	remedy = "to replace it, use --force"
	if e.Forced {
		remedy = "the server does not allow --force to replace it: push another version"
	}
	return fmt.Sprintf("chart %s already exists at %s%s%s: %s", e.Chart, e.URL, content, quoted(e.Message), remedy)
}

// StatusError reports that the server did not accept a request.
type StatusError struct {
	Method, URL string
	// StatusCode is the HTTP status code of the response.
	StatusCode int
	// Message is what the server says. It can be empty.
	Message string
	// Remedy says what the user can do. It can be empty.
	Remedy string
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("%s %s: the server answered %s%s", e.Method, e.URL, status(e.StatusCode), quoted(e.Message))
	if e.Remedy != "" {
		text += ": " + e.Remedy
	}
	return text
}

// RedirectError reports that a server redirects an upload in a way that Push does not follow:
// neither credentials nor charts are sent to another server.
type RedirectError struct {
	// From and To are URLs.
	From, To string
	// SameServer is true if the redirect is not to another server, but requires another method.
	SameServer bool

	target string // To with its query
}

func (e *RedirectError) Error() string {
	if e.SameServer {
		return fmt.Sprintf("%s redirects to %s, as login pages do, and nothing was uploaded: check the URL and the credentials", e.From, e.To)
	}
	return fmt.Sprintf("%s redirects to %s, which is on another server (scheme, host or port): "+
		"credentials and charts are not sent there. If you trust this server, push to its URL instead", e.From, e.To)
}

// IndexError reports that a chart was uploaded, but that the index of the repository could not
// be updated.
type IndexError struct {
	// ChartURL is the URL of the uploaded chart, and IndexURL that of the index.
	ChartURL, IndexURL string
	Err                error
}

func (e *IndexError) Error() string {
	return fmt.Sprintf("the chart was uploaded to %s, but %s does not list it: %s; to try again, push it with --force --update-index", e.ChartURL, e.IndexURL, e.Err)
}

// Unwrap returns Err.
func (e *IndexError) Unwrap() error { return e.Err }

// status returns a status code with its text.
func status(code int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", code, http.StatusText(code)))
}

// quoted returns the message of a server as an addition to a sentence.
func quoted(message string) string {
	if message == "" {
		return ""
	}
	return fmt.Sprintf(" (%s)", message)
}

// statusError returns the error for a response that is no success.
func (u *upload) statusError(r *response) *StatusError {
	e := &StatusError{Method: r.method, URL: r.url, StatusCode: r.status, Message: u.client.message(r)}
	switch {
	case r.status == http.StatusUnauthorized:
		e.Remedy = "use --username and --password, or --access-token"
		if u.client.authorization != "" {
			e.Remedy = "the server does not accept the credentials"
		}
	case r.status == http.StatusForbidden:
		e.Remedy = "the account is not allowed to do this"
	case r.status == http.StatusProxyAuthRequired:
		e.Remedy = "the proxy requires credentials in the environment variable that names it"
	case r.status == http.StatusRequestEntityTooLarge:
		e.Remedy = fmt.Sprintf("the chart has %d bytes, which is more than the server or a proxy accepts: raise its limit", len(u.archive.data))
	case r.status == http.StatusInsufficientStorage:
		e.Remedy = "the server has no space left"
	case r.method == http.MethodPost:
		e.Remedy = u.postRemedy(r)
	case r.method == http.MethodPut:
		e.Remedy = u.putRemedy(r)
	}
	if e.Remedy == "" && r.status >= http.StatusInternalServerError {
		e.Remedy = "the server failed: try again later"
	}
	return e
}

func (u *upload) postRemedy(r *response) string {
	if r.status == http.StatusNotFound || r.status == http.StatusMethodNotAllowed {
		return "there is no ChartMuseum API: to store the files with PUT, use --http-method put; " +
			"if the API is at another path, use --context-path"
	}
	return ""
}

func (u *upload) putRemedy(r *response) string {
	switch r.status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return "the server does not store files with PUT: to use ChartMuseum's API, use --http-method post"
	case http.StatusConflict:
		return "the directory may not exist, or the server does not allow the file to be replaced"
	case http.StatusInternalServerError: // as nginx answers
		return "the server failed; the directory may not exist"
	}
	return ""
}
