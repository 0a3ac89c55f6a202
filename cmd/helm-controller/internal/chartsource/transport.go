// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartsource

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	dialTimeout = 10 * time.Second
	// headerTimeout limits the time until a server begins to respond.
	headerTimeout = 30 * time.Second
)

// refusedError reports that the administrator does not allow a download.
type refusedError struct{ message string }

func (e *refusedError) Error() string { return e.message }

// limitedTransport sends the requests of one download, within its limits. Helm's packages have no
// context, and read responses as a whole, so the limits apply to the connections: they are closed when
// the context ends or too much was read.
type limitedTransport struct {
	ctx       context.Context //nolint:containedctx // it is the context of the download, as for http.Request
	options   Options
	transport *http.Transport

	mu   sync.Mutex
	left int64
	// err is the first limit that was exceeded.
	err error
}

func newTransport(ctx context.Context, o Options, c *credentials) *limitedTransport {
	t := &limitedTransport{ctx: ctx, options: o, left: o.MaxBytes}
	t.transport = &http.Transport{
		Proxy: t.checkURL, DialContext: t.dial, TLSClientConfig: c.tls, TLSHandshakeTimeout: dialTimeout,
		// With HTTP/2, Proxy is not called for every request.
		TLSNextProto:          map[string]func(string, *tls.Conn) http.RoundTripper{},
		ResponseHeaderTimeout: headerTimeout, MaxResponseHeaderBytes: 1 << 20,
		DisableCompression: true, // the limit would not apply to the decompressed response
	}
	return t
}

// checkURL is called for every request, including redirected ones, and returns the proxy for it.
func (t *limitedTransport) checkURL(r *http.Request) (*url.URL, error) {
	if len(t.options.Allowed) > 0 && !slices.ContainsFunc(t.options.Allowed, func(prefix string) bool { return hasPrefix(r.URL, prefix) }) {
		return nil, t.exceed(&refusedError{fmt.Sprintf("the administrator does not allow charts from %s://%s%s (option --allow-chart-source)", r.URL.Scheme, r.URL.Host, r.URL.Path)})
	}
	// A proxy resolves the other names itself.
	if ip := net.ParseIP(r.URL.Hostname()); ip != nil && !t.options.AllowLocal && isLocal(ip) {
		return nil, t.exceed(localAddressError(ip.String()))
	}
	return http.ProxyFromEnvironment(r)
}

// hasPrefix reports whether a URL begins with an allowed prefix, at the end of a part of the path. The
// requests to an OCI registry have other paths than the references of its charts, so its host is compared,
// and the path as the name of a repository.
func hasPrefix(u *url.URL, prefix string) bool {
	allowed, err := url.Parse(prefix)
	if err != nil || u.Host != allowed.Host {
		return false
	}
	path, isAllowedScheme, want := u.Path, u.Scheme == allowed.Scheme, strings.TrimSuffix(allowed.Path, "/")
	if allowed.Scheme == "oci" {
		path, isAllowedScheme = strings.CutPrefix(path, "/v2")
		if isAllowedScheme && strings.Trim(path, "/") == "" {
			return true // a request for the version of the API
		}
	}
	return isAllowedScheme && !strings.Contains(path, "/../") && (path == want || strings.HasPrefix(path, want+"/"))
}

func (t *limitedTransport) dial(_ context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTimeout, Control: t.checkAddress}
	conn, err := d.DialContext(t.ctx, network, address) //nolint:contextcheck // Helm's packages pass no context
	if err != nil {
		return nil, err
	}
	c := &limitedConn{Conn: conn, transport: t}
	c.stop = context.AfterFunc(t.ctx, func() { _ = conn.Close() }) //nolint:contextcheck // see above
	return c, nil
}

// checkAddress is called with each address to which a name was resolved.
func (t *limitedTransport) checkAddress(_, address string, _ syscall.RawConn) error {
	if t.options.AllowLocal {
		return nil
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); ip == nil || isLocal(ip) {
		return t.exceed(localAddressError(host))
	}
	return nil
}

func localAddressError(host string) error {
	return &refusedError{fmt.Sprintf("charts are not downloaded from the local address %s (option --allow-local-chart-sources)", host)}
}

// isLocal reports whether an address is that of the machine, or of the services that only a machine can reach.
func isLocal(ip net.IP) bool {
	if ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.IsUnspecified() {
		return true
	}
	// The metadata services of cloud providers that have no link-local address.
	return slices.ContainsFunc([]string{"fd00:ec2::254", "100.100.100.200", "168.63.129.16", "192.0.0.192"}, func(service string) bool {
		return ip.Equal(net.ParseIP(service))
	})
}

// exceed records that a limit was exceeded, and returns err.
func (t *limitedTransport) exceed(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = err
	}
	return err
}

// explain returns the limit that was exceeded, or else err.
func (t *limitedTransport) explain(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return t.err
	}
	return err
}

// take counts bytes that were read.
func (t *limitedTransport) take(n int) error {
	t.mu.Lock()
	t.left -= int64(n)
	exceeded := t.left < 0
	t.mu.Unlock()
	if exceeded {
		return t.exceed(fmt.Errorf("the download is larger than %d bytes", t.options.MaxBytes))
	}
	return nil
}

// limitedConn is a connection of a limitedTransport.
type limitedConn struct {
	net.Conn
	transport *limitedTransport
	stop      func() bool
}

func (c *limitedConn) Read(buffer []byte) (int, error) {
	n, err := c.Conn.Read(buffer)
	if exceeded := c.transport.take(n); exceeded != nil {
		return 0, exceeded
	}
	return n, err
}

func (c *limitedConn) Close() error {
	c.stop()
	return c.Conn.Close()
}
