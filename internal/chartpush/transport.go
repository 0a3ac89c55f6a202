// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartpush

import (
	"context"
	"net"
	"net/http"
	"time"
)

const (
	defaultIdleTimeout = 2 * time.Minute
	handshakeTimeout   = 30 * time.Second
	// continueTimeout is how long an upload waits for the server to accept its headers,
	// before it sends the content anyway.
	continueTimeout = time.Second
)

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
