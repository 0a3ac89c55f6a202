// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"net"
	"sync"
)

// connections are the open connections that a listener accepted.
type connections struct {
	net.Listener
	silence *silence

	mu   sync.Mutex
	open map[*connection]struct{}
}

// Accept waits for a connection.
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

// drop closes all connections and returns their number. It does not close TLS properly,
// because that would send a message, which a silence would block.
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

// connection is a connection to a client. No data arrive during a silence.
type connection struct {
	net.Conn
	all    *connections
	closed chan struct{}
	once   sync.Once
}

// Read reads data from the client, or the end of the data, after any silence.
func (c *connection) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.all.silence.wait(c.closed)
	return n, err
}

// Write sends data after any silence.
func (c *connection) Write(b []byte) (int, error) {
	c.all.silence.wait(c.closed)
	return c.Conn.Write(b)
}

// CloseWrite closes the direction to the client, after any silence.
func (c *connection) CloseWrite() error {
	c.all.silence.wait(c.closed)
	return closeWrite(c.Conn)
}

// Close ends both directions.
func (c *connection) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.all.mu.Lock()
		defer c.all.mu.Unlock()
		delete(c.all.open, c)
	})
	return c.Conn.Close()
}
