// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartpush

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/ordered-helm/helm/internal/redact"
	"github.com/ordered-helm/helm/internal/terminalsafe"
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
	defaultIdleTimeout = 2 * time.Minute
	handshakeTimeout   = 30 * time.Second
	// continueTimeout is how long an upload waits for the server to accept its headers,
	// before it sends the content anyway.
	continueTimeout = time.Second
	// maxMessage is the maximum length of a server's message that is shown, and maxBody the
	// number of bytes of a response in which the message is looked for.
	maxMessage, maxBody = 300, 64 << 10
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

// newTransport returns a transport whose connections fail if they make no progress for the
// duration idle.
func newTransport(idle time.Duration) *http.Transport {
	if idle == 0 {
		idle = defaultIdleTimeout
	}
	dialer := &net.Dialer{Timeout: handshakeTimeout}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DisableCompression:    true, // archives must arrive as they are stored
		TLSHandshakeTimeout:   handshakeTimeout,
		ExpectContinueTimeout: continueTimeout,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &idleConn{conn, idle}, nil
		},
	}
}

// idleConn is a connection that fails if neither reading nor writing makes progress.
type idleConn struct {
	net.Conn
	timeout time.Duration
}

func (c *idleConn) Read(p []byte) (int, error) {
	if err := c.extend(); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write also extends the time of a Read that is waiting for the response. It writes in pieces,
// because a slow connection may need long for all of p.
func (c *idleConn) Write(p []byte) (int, error) {
	const piece = 16 << 10
	written := 0
	for {
		if err := c.extend(); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(p[written:min(written+piece, len(p))])
		if written += n; err != nil || written == len(p) {
			return written, err
		}
	}
}

func (c *idleConn) extend() error { return c.SetDeadline(time.Now().Add(c.timeout)) }

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

// safeError removes credentials from the error of a request, and the URL, which may contain
// them. The error can still be examined with errors.Is and errors.As.
func (c *client) safeError(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	if text := c.safeText(err.Error()); text != err.Error() {
		return &safeError{text, err}
	}
	return err
}

// safeError is an error without credentials in its text.
type safeError struct {
	text string
	err  error
}

func (e *safeError) Error() string { return e.text }
func (e *safeError) Unwrap() error { return e.err }

// userInfo matches a user name and password in a URL, for example in that of a proxy.
var userInfo = regexp.MustCompile(`//[^/\s"@]+@`)

// safeText removes credentials from a text.
func (c *client) safeText(text string) string {
	return userInfo.ReplaceAllString(c.redactor.Text(text), "//")
}

// message returns what the server says in a response, in one line without credentials. It is
// empty if the response is a page for browsers.
func (c *client) message(r *response) string {
	text := strings.TrimSpace(string(r.body))
	var fields struct{ Error, Message any }
	switch {
	case r.isHTML() || strings.HasPrefix(text, "<"):
		return ""
	case json.Unmarshal(r.body, &fields) == nil:
		text = ""
		for _, field := range []any{fields.Error, fields.Message} {
			if said, ok := field.(string); ok && text == "" {
				text = said
			}
		}
	}
	for _, secret := range c.secrets {
		// The redactor leaves short secrets, which would occur anywhere.
		if secret != "" && strings.Contains(c.redactor.Text(text), secret) {
			return ""
		}
	}
	text = terminalsafe.Sanitize(strings.Join(strings.Fields(c.safeText(text)), " "))
	if runes := []rune(text); len(runes) > maxMessage {
		text = string(runes[:maxMessage]) + "…"
	}
	return text
}
