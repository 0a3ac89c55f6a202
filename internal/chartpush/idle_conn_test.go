// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartpush

import (
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// slowConn is a connection that needs a second for every ten KiB, and fails after its deadline.
type slowConn struct {
	net.Conn
	deadline time.Time
}

func (c *slowConn) SetDeadline(t time.Time) error {
	c.deadline = t
	return nil
}

func (c *slowConn) Write(p []byte) (int, error) {
	time.Sleep(time.Duration(len(p)) * time.Second / (10 << 10))
	if time.Now().After(c.deadline) {
		return 0, net.ErrClosed
	}
	return len(p), nil
}

// TestSlowConnection checks that a slow upload is not ended while it makes progress.
func TestSlowConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &idleConn{&slowConn{}, 2 * time.Second}
		start := time.Now()
		if n, err := c.Write(make([]byte, 1<<20)); n != 1<<20 || err != nil {
			t.Errorf("wrote %d bytes: %v", n, err)
		}
		if time.Since(start) < time.Minute {
			t.Error("the connection is not slow")
		}
	})
}
