// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"io"

	"github.com/ordered-helm/helm/internal/chartpush"
	"github.com/ordered-helm/helm/internal/chartupload"
)

type (
	// Push uploads chart archives (helm push): to OCI registries as Helm's Push does, to HTTP
	// servers, to repositories that were added with "helm repo add", and to what plugins have
	// uploaders for (docs/reference.md, "Pushing").
	Push = chartupload.Push
	// PushOpt is an option for NewPushWithOpts.
	PushOpt = chartupload.PushOpt
	// PushHTTPOptions control how a Push uploads charts to HTTP servers (docs/reference.md,
	// "Pushing").
	PushHTTPOptions = chartupload.PushHTTPOptions
)

// These are the errors of a Push to an HTTP server (docs/reference.md, "Pushing").
type (
	// ChartExistsError reports that the server already has a chart of this name and version.
	ChartExistsError = chartpush.ExistsError
	// PushStatusError reports that the server did not accept a request.
	PushStatusError = chartpush.StatusError
	// PushRedirectError reports that the server redirects an upload to another server.
	PushRedirectError = chartpush.RedirectError
	// PushIndexError reports that a chart was uploaded, but not added to the index.
	PushIndexError = chartpush.IndexError
)

// NewPushWithOpts returns a Push with the given options.
func NewPushWithOpts(opts ...PushOpt) *Push { return chartupload.NewPushWithOpts(opts...) }

// WithPushHTTPOptions sets the options for HTTP servers. Uploaders of plugins get the
// credentials too.
func WithPushHTTPOptions(o PushHTTPOptions) PushOpt { return chartupload.WithPushHTTPOptions(o) }

// WithPushConfig sets the Configuration of a Push. It is needed for registries.
func WithPushConfig(cfg *Configuration) PushOpt { return chartupload.WithPushConfig(cfg) }

// WithTLSClientConfig sets the TLS files of a Push: the client's certificate, the key of
// that certificate, and the certificate authorities that verify the server's certificate.
func WithTLSClientConfig(certFile, keyFile, caFile string) PushOpt {
	return chartupload.WithTLSClientConfig(certFile, keyFile, caFile)
}

// WithInsecureSkipTLSVerify sets whether a Push accepts any certificate from the server.
func WithInsecureSkipTLSVerify(insecureSkipTLSVerify bool) PushOpt {
	return chartupload.WithInsecureSkipTLSVerify(insecureSkipTLSVerify)
}

// WithPlainHTTP sets whether a Push to a registry uses HTTP instead of HTTPS.
func WithPlainHTTP(plainHTTP bool) PushOpt { return chartupload.WithPlainHTTP(plainHTTP) }

// WithPushOptWriter sets the writer to which a Push prints warnings, and the output of
// uploaders of plugins. Without a writer, they are dropped.
func WithPushOptWriter(out io.Writer) PushOpt { return chartupload.WithPushOptWriter(out) }
