// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package chartupload uploads a chart archive to where a URL or the name of a repository says: to an OCI registry, an
// HTTP server, or what a plugin has an uploader for (docs/reference.md, "Pushing"). Package chartpush does it for HTTP
// servers.
package chartupload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/registry"

	"github.com/ordered-helm/helm/internal/archive"
	"github.com/ordered-helm/helm/internal/chartpush"
)

// Push uploads chart archives (helm push): to OCI registries as Helm's Push does, to HTTP
// servers, to repositories that were added with "helm repo add", and to what plugins have
// uploaders for (docs/reference.md, "Pushing").
type Push struct {
	// Settings are the settings of Helm's command line, such as the paths of its
	// configuration files.
	Settings *cli.EnvSettings

	options []helmaction.PushOpt

	http                      PushHTTPOptions
	certFile, keyFile, caFile string
	insecureSkipTLSVerify     bool
	out                       io.Writer
}

// PushOpt is an option for NewPushWithOpts.
type PushOpt func(*Push)

// PushHTTPOptions control how a Push uploads charts to HTTP servers (docs/reference.md,
// "Pushing"). The first four fields are only for HTTP servers, and AccessToken also for plugins:
// with another remote, Run returns an error if one of them is set.
type PushHTTPOptions struct {
	// Method is "post", for ChartMuseum's API, or "put", to store the files. The default is
	// "post".
	Method string
	// ContextPath is the path of ChartMuseum's API on its server, if the API is not directly
	// below the URL of the repository.
	ContextPath string
	// Force replaces a chart of the same name and version.
	Force bool
	// UpdateIndex adds the chart to the index.yaml of the repository. It requires the method
	// "put".
	UpdateIndex bool
	// Username and Password are for basic authentication. If one of them is set, or
	// AccessToken, the credentials of an added repository are not used.
	Username, Password string
	// AccessToken is sent as a bearer token. It cannot be combined with Username and Password.
	AccessToken string
}

// WithPushHTTPOptions sets the options for HTTP servers. Uploaders of plugins get the
// credentials too.
func WithPushHTTPOptions(o PushHTTPOptions) PushOpt { return func(p *Push) { p.http = o } }

// WithPushConfig sets the Configuration of a Push. It is needed for registries.
func WithPushConfig(cfg *helmaction.Configuration) PushOpt {
	return helmPushOpt(helmaction.WithPushConfig(cfg))
}

// WithTLSClientConfig sets the TLS files of a Push: the client's certificate, the key of
// that certificate, and the certificate authorities that verify the server's certificate.
func WithTLSClientConfig(certFile, keyFile, caFile string) PushOpt {
	return func(p *Push) {
		helmPushOpt(helmaction.WithTLSClientConfig(certFile, keyFile, caFile))(p)
		p.certFile, p.keyFile, p.caFile = certFile, keyFile, caFile
	}
}

// WithInsecureSkipTLSVerify sets whether a Push accepts any certificate from the server.
func WithInsecureSkipTLSVerify(insecureSkipTLSVerify bool) PushOpt {
	return func(p *Push) {
		helmPushOpt(helmaction.WithInsecureSkipTLSVerify(insecureSkipTLSVerify))(p)
		p.insecureSkipTLSVerify = insecureSkipTLSVerify
	}
}

// WithPlainHTTP sets whether a Push to a registry uses HTTP instead of HTTPS.
func WithPlainHTTP(plainHTTP bool) PushOpt { return helmPushOpt(helmaction.WithPlainHTTP(plainHTTP)) }

// WithPushOptWriter sets the writer to which a Push prints warnings, and the output of
// uploaders of plugins. Without a writer, they are dropped.
func WithPushOptWriter(out io.Writer) PushOpt {
	return func(p *Push) {
		helmPushOpt(helmaction.WithPushOptWriter(out))(p)
		p.out = out
	}
}

func helmPushOpt(option helmaction.PushOpt) PushOpt {
	return func(p *Push) { p.options = append(p.options, option) }
}

// NewPushWithOpts returns a Push with the given options.
func NewPushWithOpts(opts ...PushOpt) *Push {
	p := &Push{out: io.Discard}
	for _, change := range opts {
		change(p)
	}
	return p
}

// Run uploads a chart like RunWithContext, and cannot be canceled.
func (p *Push) Run(chartRef, remote string) (string, error) {
	return p.RunWithContext(context.Background(), chartRef, remote) //nolint:forbidigo // as Helm's method, it has no context
}

// RunWithContext uploads the chart archive chartRef to remote, and returns the text that the
// command prints. The scheme of remote determines how: oci, http, https, or a scheme for which
// a plugin has an uploader. Without a scheme, remote is the name of a repository in the
// settings' repository file, whose URL, credentials and TLS files are used.
//
// If annotations in the archive's Chart.yaml are lists, or it is of the format helm.sh/v3, a
// copy is uploaded in which Helm can read it. If such an archive is signed, RunWithContext
// returns an error instead, because the signature would not match the copy.
//
// If ctx is done, uploads other than to registries end, and remove what they have left.
func (p *Push) RunWithContext(ctx context.Context, chartRef, remote string) (string, error) {
	canonical, err := archive.CanonicalCopy(chartRef)
	switch {
	case err != nil:
		return "", err
	case canonical == "":
		return p.upload(ctx, chartRef, remote)
	}
	out, err := p.upload(ctx, canonical, remote)
	return out, errors.Join(err, os.RemoveAll(filepath.Dir(canonical)))
}

// upload uploads an archive that Helm can read.
func (p *Push) upload(ctx context.Context, chartRef, remote string) (string, error) {
	target, err := p.target(remote)
	if err != nil {
		return "", err
	}
	if !registry.IsOCI(target.url) {
		return target.upload(ctx, chartRef)
	}
	if p.http.AccessToken != "" {
		return "", errors.New("--access-token cannot be used with a registry: use --username and --password, or \"helm registry login\"")
	}
	if err := p.rejectHTTPOptions(); err != nil {
		return "", err
	}
	helmPush := helmaction.NewPushWithOpts(p.options...)
	helmPush.Settings = p.Settings
	return helmPush.Run(chartRef, target.url)
}

// rejectHTTPOptions returns an error if there are options that only HTTP servers support.
func (p *Push) rejectHTTPOptions() error {
	var name string
	switch {
	case p.http.Method != "" && p.http.Method != string(chartpush.Post):
		name = "--http-method"
	case p.http.ContextPath != "":
		name = "--context-path"
	case p.http.Force:
		name = "--force"
	case p.http.UpdateIndex:
		name = "--update-index"
	default:
		return nil
	}
	return fmt.Errorf("%s can be used only if the chart is pushed to an HTTP server", name)
}
