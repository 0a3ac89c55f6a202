// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"net"
	"sync"
)

// connections is a listener that tracks the open connections that it has accepted.
type connections struct {
	net.Listener
	silence *silence

	mu   sync.Mutex
	open map[*connection]struct{}
}

// Accept implements net.Listener.
func (c *connections) Accept() (net.Conn, error) {
	accepted, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	conn := &connection{Conn: accepted, all: c, closed: make(chan struct{})}
	c.open[conn] = struct{}{}
	return conn, nil
}

// drop closes all connections and returns their number. It does not end TLS properly, because
// the message for that would be blocked during a silence.
func (c *connections) drop() int {
	c.mu.Lock()
	dropped := make([]*connection, 0, len(c.open))
	for conn := range c.open {
		dropped = append(dropped, conn)
	}
	c.mu.Unlock()
	for _, conn := range dropped {
		_ = conn.Close()
	}
	return len(dropped)
}

// count returns the number of open connections.
func (c *connections) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}

// connection is a connection to a client. During a silence, its reads and writes block.
type connection struct {
	net.Conn
	all    *connections
	closed chan struct{}
	once   sync.Once
}

// Read reads data from the client. During a silence, it blocks.
func (c *connection) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.all.silence.wait(c.closed)
	return n, err
}

// Write sends data to the client. During a silence, it blocks.
func (c *connection) Write(b []byte) (int, error) {
	c.all.silence.wait(c.closed)
	return c.Conn.Write(b)
}

// CloseWrite closes the direction to the client. During a silence, it blocks.
func (c *connection) CloseWrite() error {
	c.all.silence.wait(c.closed)
	return closeWrite(c.Conn)
}

// Close closes both directions of the connection.
func (c *connection) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.all.mu.Lock()
		defer c.all.mu.Unlock()
		delete(c.all.open, c)
	})
	return c.Conn.Close()
}
