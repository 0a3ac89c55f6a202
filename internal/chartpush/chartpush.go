// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package chartpush uploads chart archives to HTTP servers: with the API of ChartMuseum, or with
// PUT requests to servers that store files. For the latter, it can also update the index of the
// repository (docs/reference.md, "Pushing").
package chartpush

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Method is a way to upload a chart over HTTP.
type Method string

// The methods are the HTTP methods of the request that contains the archive.
const (
	// Post uploads the archive and its provenance file with ChartMuseum's API.
	Post Method = "post"
	// Put uploads each file to a URL of its own.
	Put Method = "put"
)

// Options control how charts are uploaded.
type Options struct {
	// Method is Post if it is empty.
	Method Method
	// ContextPath is the path of ChartMuseum's API on its server (see apiURL).
	ContextPath string
	// Force replaces a chart of the same name and version on the server.
	Force bool
	// UpdateIndex adds the chart to the index.yaml on the server. It requires Put.
	UpdateIndex bool
	Connection  Connection
	// Warn is called for what the user should know, although the upload can succeed.
	Warn func(message string)
}

// Check returns an error if options contradict each other.
func (o *Options) Check() error {
	switch {
	case o.Method != "" && o.Method != Post && o.Method != Put:
		return fmt.Errorf("invalid HTTP method %q: must be one of: post, put", o.Method)
	case o.UpdateIndex && o.Method != Put:
		return errors.New("--update-index requires --http-method put: a server with ChartMuseum's API updates its index itself")
	case o.ContextPath != "" && o.Method == Put:
		return errors.New("--context-path is only for ChartMuseum's API: with --http-method put, add the path to the URL")
	}
	return o.Connection.check()
}

// upload is one upload.
type upload struct {
	Options
	client  *client
	archive *Archive
}

// Push uploads an archive to a repository. When it returns without an error, the server has
// said that it has saved the chart (Post), or has sent back the complete chart (Put). Errors
// contain no credentials.
//
// The error is an *ExistsError if the server has a chart of this name and version, a
// *StatusError if it rejects a request, a *RedirectError if it redirects to another server,
// and an *IndexError if it has the chart, but its index could not be updated.
func Push(ctx context.Context, archive *Archive, repository string, o Options) error {
	if err := o.Check(); err != nil {
		return err
	}
	client, err := newClient(repository, o.Connection)
	if err != nil {
		return err
	}
	defer client.close()
	u := &upload{Options: o, client: client, archive: archive}
	if o.Method == Put {
		return u.put(ctx)
	}
	return u.post(ctx)
}

func (u *upload) warn(format string, a ...any) {
	if u.Warn != nil {
		u.Warn(u.client.safeText(fmt.Sprintf(format, a...)))
	}
}

// chart returns the name and version of the chart, for messages.
func (u *upload) chart() string { return u.archive.Metadata.Name + " " + u.archive.Metadata.Version }

// cleanupTimeout limits the time for removing what an upload has left.
const cleanupTimeout = 15 * time.Second

// cleanupContext returns a context for removing what an upload has left, even if ctx is done.
func cleanupContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
}

// apiURL returns the URL to which ChartMuseum's API accepts charts. If the path of the
// repository begins with the context path, the API is below the context path, and the rest is
// the name of one of several repositories on the server: with the context path /helm and the
// repository https://example.com/helm/team/a, the URL is
// https://example.com/helm/api/team/a/charts. Otherwise, the context path and /api/charts are
// appended to the URL of the repository.
func (u *upload) apiURL() string {
	path, above := strings.Trim(u.client.path, "/"), strings.Trim(u.ContextPath, "/")
	if u.ContextPath == "" {
		return u.client.url(path, "api/charts")
	}
	if rest, below := strings.CutPrefix(path+"/", above+"/"); below || above == "" {
		return u.client.url(above, "api", rest, "charts")
	}
	return u.client.url(path, above, "api/charts")
}
