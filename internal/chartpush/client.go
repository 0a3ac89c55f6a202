// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartpush

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ordered-helm/helm/internal/redact"
	"github.com/ordered-helm/helm/internal/tlsfiles"
)

// Connection says how to connect to a server. The environment variables HTTP_PROXY, HTTPS_PROXY
// and NO_PROXY determine the proxy.
type Connection struct {
	// Username and Password are for basic authentication.
	Username, Password string
	// AccessToken is sent as a bearer token. It cannot be combined with Username and Password.
	AccessToken string
	// CertFile and KeyFile are the client's certificate and its key, and CAFile contains
	// the authorities that verify the server's certificate.
	CertFile, KeyFile, CAFile string
	// InsecureSkipTLSVerify accepts any certificate from the server.
	InsecureSkipTLSVerify bool
	// UserAgent is the value of the header of this name. It can be empty.
	UserAgent string
	// IdleTimeout is how long a connection can make no progress. It is two minutes if it is 0.
	IdleTimeout time.Duration
}

const (
	// maxBody is how many bytes of a response are read if nothing else is said.
	maxBody = 64 << 10
	// minParameter is the minimum length of a parameter of the repository's URL that is
	// secret. Shorter ones would occur in other text.
	minParameter = 6
)

func (c *Connection) check() error {
	switch {
	case c.AccessToken != "" && (c.Username != "" || c.Password != ""):
		return errors.New("use either an access token, or a user name and password")
	case (c.CertFile == "") != (c.KeyFile == ""):
		return errors.New("--cert-file and --key-file must be used together")
	}
	return nil
}

// client sends requests to one repository. Credentials and uploads never leave the scheme,
// host and port of the repository.
type client struct {
	// server is the scheme, host and port of the repository, such as http://localhost:8080, and
	// path its path, escaped as in the URL.
	server, path string
	// query is the query of the repository's URL, which is sent with each request, and never
	// shown, because it can contain an access key.
	query string
	// authorization is the value of the header Authorization, or empty.
	authorization string
	userAgent     string
	secrets       []string
	redactor      *redact.Redactor
	// http is for the repository. anonymous has no client certificate and is for downloads
	// that the repository redirects to another server.
	http, anonymous *http.Client
}

func newClient(repository string, o Connection) (*client, error) {
	address, err := url.Parse(repository)
	if err != nil {
		return nil, errors.New("the URL of the repository is invalid") // the error would contain it
	}
	if user := address.User; user != nil && o.AccessToken == "" && o.Username == "" && o.Password == "" {
		o.Username = user.Username()
		o.Password, _ = user.Password()
	}
	if address.Scheme != "http" && address.Scheme != "https" || address.Host == "" {
		return nil, fmt.Errorf("%s is not the URL of an HTTP server", shownURL(address))
	}
	c := &client{server: address.Scheme + "://" + address.Host, path: address.EscapedPath(), query: address.RawQuery, userAgent: o.UserAgent}
	c.setCredentials(o, address.Query())
	config, err := tlsfiles.Load(tlsfiles.Files{Cert: o.CertFile, Key: o.KeyFile, CA: o.CAFile, Insecure: o.InsecureSkipTLSVerify})
	if err != nil {
		return nil, err
	}
	transport := newTransport(o.IdleTimeout)
	transport.TLSClientConfig = config
	c.http = &http.Client{Transport: transport, CheckRedirect: c.checkRedirect}
	elsewhere := transport.Clone()
	elsewhere.TLSClientConfig.Certificates = nil
	c.anonymous = &http.Client{Transport: elsewhere, CheckRedirect: limitRedirects}
	return c, nil
}

// setCredentials sets the credentials, and which texts are secret. Parameters are those of the
// query of the repository's URL.
func (c *client) setCredentials(o Connection, parameters url.Values) {
	switch {
	case o.AccessToken != "":
		c.authorization = "Bearer " + o.AccessToken
		c.secrets = []string{o.AccessToken}
	case o.Username != "" || o.Password != "":
		pair := base64.StdEncoding.EncodeToString([]byte(o.Username + ":" + o.Password))
		c.authorization = "Basic " + pair
		// A token can also be a user name without a password.
		c.secrets = []string{cmp.Or(o.Password, o.Username), pair}
	}
	for _, values := range parameters {
		for _, value := range values {
			if len(value) >= minParameter {
				c.secrets = append(c.secrets, value)
			}
		}
	}
	c.redactor = redact.New(c.secrets)
}

func (c *client) close() {
	c.http.CloseIdleConnections()
	c.anonymous.CloseIdleConnections()
}

// url returns a URL on the server of the repository, whose path has the given parts. They are
// escaped, and can begin and end with slashes.
func (c *client) url(parts ...string) string {
	var path strings.Builder
	for _, part := range parts {
		if part = strings.Trim(part, "/"); part != "" {
			path.WriteString("/" + part)
		}
	}
	return c.server + path.String()
}

// repositoryURL returns the URL of the repository, without credentials.
func (c *client) repositoryURL() string { return c.url(c.path) }

// fileURL returns the URL of a file in the repository.
func (c *client) fileURL(name string) string { return c.url(c.path, url.PathEscape(name)) }

// shownURL returns a URL without what can be secret: user name, password and query.
func shownURL(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// request describes a request to the repository.
type request struct {
	method string
	// url is the URL without its query, and query a parameter that is added to it.
	url, query string
	header     map[string]string
	body       []byte
	// maxBody is the number of bytes of the response that are read. It is maxBody if it is 0.
	maxBody int
}

// response is a response, of which at most a part is read.
type response struct {
	method, url string
	status      int
	header      http.Header
	body        []byte
}

func (r *response) isHTML() bool {
	kind, _, _ := mime.ParseMediaType(r.header.Get("Content-Type"))
	return kind == "text/html" || kind == "application/xhtml+xml"
}

func (r *response) isSuccess() bool {
	return r.status >= http.StatusOK && r.status < http.StatusMultipleChoices
}

// send sends a request. A download that is redirected to another server is repeated there
// without credentials; all other requests fail then.
func (c *client) send(ctx context.Context, r request) (*response, error) {
	address := r.url
	if query := strings.Trim(c.query+"&"+r.query, "&"); query != "" {
		address += "?" + query
	}
	result, err := c.sendTo(ctx, address, r)
	if redirect, ok := errors.AsType[*RedirectError](err); ok && r.method == http.MethodGet && !redirect.SameServer {
		result, err = c.sendTo(ctx, redirect.target, r)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.method, r.url, c.safeError(err))
	}
	return result, nil
}

// sendTo sends a request to an address. Credentials are sent only to the server of the repository.
func (c *client) sendTo(ctx context.Context, address string, r request) (*response, error) {
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	request, err := http.NewRequestWithContext(ctx, r.method, address, body)
	if err != nil {
		return nil, err
	}
	for name, value := range r.header {
		request.Header.Set(name, value)
	}
	if r.body != nil {
		// A server that rejects the request says so before the content is sent.
		request.Header.Set("Expect", "100-continue")
	}
	if c.userAgent != "" {
		request.Header.Set("User-Agent", c.userAgent)
	}
	via := c.anonymous
	if strings.HasPrefix(address, c.server+"/") || strings.HasPrefix(address, c.server+"?") {
		via = c.http
		if c.authorization != "" {
			request.Header.Set("Authorization", c.authorization)
		}
	}
	answer, err := via.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	limit := r.maxBody
	if limit == 0 {
		limit = maxBody
	}
	received, err := io.ReadAll(io.LimitReader(answer.Body, int64(limit)))
	if err != nil {
		return nil, fmt.Errorf("the response broke off: %w", err)
	}
	return &response{method: r.method, url: r.url, status: answer.StatusCode, header: answer.Header, body: received}, nil
}
