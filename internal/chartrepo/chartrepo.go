// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package chartrepo reaches chart repositories as Helm's package repo does, but
// ends with its context, and does not read an index of any size into memory.
package chartrepo

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"slices"

	"helm.sh/helm/v3/pkg/getter"
	"helm.sh/helm/v3/pkg/repo"

	"github.com/ordered-helm/helm/internal/tlsfiles"
)

// maxIndexSize is how many bytes an index may have that is fetched over HTTP,
// with all that HTTP adds to it. The largest public ones have a tenth of it.
const maxIndexSize = 256 << 20

// New returns the repository of an entry. What it fetches over HTTP it fetches
// until ctx ends, with TLS as the entry says. Other schemes are those of the
// providers.
func New(ctx context.Context, entry *repo.Entry, providers getter.Providers) (*repo.ChartRepository, error) {
	r, err := repo.NewChartRepository(entry, providers)
	if err != nil {
		return nil, err
	}
	if plain, ok := r.Client.(*getter.HTTPGetter); ok {
		files := tlsfiles.Files{Cert: entry.CertFile, Key: entry.KeyFile, CA: entry.CAFile, Insecure: entry.InsecureSkipTLSverify}
		r.Client = &client{HTTPGetter: plain, ctx: ctx, files: files, limit: maxIndexSize}
	}
	return r, nil
}

// LoadFile reads a repository file. What could be read is returned with an error,
// too; entries that are empty are left out.
func LoadFile(name string) (*repo.File, error) {
	file, err := repo.LoadFile(name)
	file.Repositories = slices.DeleteFunc(file.Repositories, func(entry *repo.Entry) bool { return entry == nil })
	return file, err
}

// Fetch fetches the indexes of repositories side by side, and reports in their
// order what became of each, as soon as it is known. Nothing of it goes on when it
// returns.
func Fetch(repositories []*repo.ChartRepository, report func(*repo.ChartRepository, error)) {
	outcomes := make([]chan error, len(repositories))
	for i, r := range repositories {
		outcomes[i] = make(chan error, 1)
		go func() {
			_, err := r.DownloadIndexFile()
			outcomes[i] <- err
		}()
	}
	for i, r := range repositories {
		report(r, <-outcomes[i])
	}
}

// client is Helm's with a transport of ours. Helm's interface has no context, so
// the client keeps the one that it was made for.
type client struct {
	*getter.HTTPGetter
	ctx   context.Context
	files tlsfiles.Files
	limit int64
}

// Get fetches what is at a URL.
func (c *client) Get(url string, options ...getter.Option) (*bytes.Buffer, error) {
	var config *tls.Config
	if c.files.Matter() {
		var err error
		if config, err = c.files.Config(); err != nil {
			return nil, fmt.Errorf("can't create TLS config for client: %w", err)
		}
	}
	transport := &http.Transport{
		DisableCompression: true, Proxy: http.ProxyFromEnvironment, TLSClientConfig: config,
		DialContext:       c.dial,
		ForceAttemptHTTP2: config == nil, // as it is without DialContext
	}
	defer transport.CloseIdleConnections()
	return c.HTTPGetter.Get(url, append(options, getter.WithTransport(transport))...)
}

// dial opens a connection that ends with the client's context, and that no more
// can be read from than the client's limit. Helm takes nothing but a transport of
// the standard library, so that it is the connection that has to be bounded.
func (c *client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)() //nolint:contextcheck // it ends with either of two contexts
	opened, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	conn := &boundedConn{Conn: opened, ctx: c.ctx, limit: c.limit, left: c.limit}
	conn.detach = context.AfterFunc(c.ctx, func() { _ = opened.Close() }) //nolint:contextcheck // it outlives the dialling
	return conn, nil
}

// boundedConn is a connection with an end.
type boundedConn struct {
	net.Conn
	ctx         context.Context
	detach      func() bool
	limit, left int64
}

// Read is called by one goroutine at a time.
func (b *boundedConn) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	b.left -= int64(n)
	switch {
	case b.ctx.Err() != nil:
		return 0, b.ctx.Err()
	case b.left < 0:
		return 0, fmt.Errorf("the answer is larger than %d bytes", b.limit)
	}
	return n, err
}

func (b *boundedConn) Close() error {
	b.detach()
	return b.Conn.Close()
}
