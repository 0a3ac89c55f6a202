// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package postgres starts PostgreSQL servers for tests. PostgreSQL must be installed from the
// distribution's package. A server ends with the test process, even if that is killed.
package postgres

import (
	"context"
	"errors"
	"testing"
	"time"
)

const (
	// startTimeout is the timeout for starting a server, even on a busy machine.
	startTimeout = 2 * time.Minute
	// attempts is the maximum number of ports that are tried.
	attempts = 5
)

// Start starts a server that listens only on a port of 127.0.0.1 and is stopped at the end
// of the test. It returns the URL of an empty database, including its superuser and
// password. The test is skipped if PostgreSQL is not installed, and on systems other than
// Linux.
func Start(tb testing.TB) (url string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), startTimeout)
	defer cancel()
	s, err := start(ctx)
	if errors.Is(err, errMissing) || errors.Is(err, errors.ErrUnsupported) {
		tb.Skip(err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.stop(); err != nil {
			tb.Error(err)
		}
	})
	return s.url
}

// start starts a server. It runs until stop is called or this process ends.
func start(ctx context.Context) (*server, error) {
	bin, err := find(ctx)
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		port, err := freePort(ctx)
		if err != nil {
			return nil, err
		}
		s, err := startServer(ctx, bin, port)
		if err == nil || attempt == attempts || !errors.Is(err, errPortTaken) {
			return s, err
		}
	}
}
