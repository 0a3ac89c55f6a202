// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package postgres gives tests a PostgreSQL server of their own, from the
// distribution's package, gone with the test process however that ends.
package postgres

import (
	"context"
	"errors"
	"testing"
	"time"
)

const (
	// startTimeout is for a machine that is busy with other things too.
	startTimeout = 2 * time.Minute
	// attempts is how often a port is chosen that another program then takes.
	attempts = 5
)

// Start starts a server that listens on a port of 127.0.0.1 alone and is stopped
// when the test is over. It returns the URL of an empty database, its superuser
// and password included. The test is skipped where no PostgreSQL is installed,
// and on other systems than Linux.
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

// start starts a server, which lives until stop or the end of this process.
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
