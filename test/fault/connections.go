// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"net"
	"sync"
)

// connections are those that a listener took in and that are open.
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

// drop closes all, and says how many there were. TLS is told nothing: it would
// send a farewell, for which silence has no end.
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

// count says how many are open.
func (c *connections) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}

// connection is one to a client: nothing arrives while there is silence.
type connection struct {
	net.Conn
	all    *connections
	closed chan struct{}
	once   sync.Once
}

// Read returns what the client has sent, or its end, after the silence.
func (c *connection) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.all.silence.wait(c.closed)
	return n, err
}

// Write sends after the silence.
func (c *connection) Write(b []byte) (int, error) {
	c.all.silence.wait(c.closed)
	return c.Conn.Write(b)
}

// CloseWrite ends the direction to the client, after the silence.
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
