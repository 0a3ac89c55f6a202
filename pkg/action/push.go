// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/cli"

	"github.com/ordered-helm/helm/internal/archive"
)

// Push uploads chart archives to OCI registries (helm push), as Helm's Push does
// (docs/reference.md, "Packages").
type Push struct {
	// Settings are the settings of Helm's command line, such as the paths of its
	// configuration files.
	Settings *cli.EnvSettings

	options []helmaction.PushOpt
}

// PushOpt is an option for NewPushWithOpts.
type PushOpt func(*Push)

// WithPushConfig sets the Configuration of a Push.
func WithPushConfig(cfg *Configuration) PushOpt { return helmPushOpt(helmaction.WithPushConfig(cfg)) }

// WithTLSClientConfig sets the TLS files of a Push: the client's certificate, the key of
// that certificate, and the certificate authorities that verify the registry's certificate.
func WithTLSClientConfig(certFile, keyFile, caFile string) PushOpt {
	return helmPushOpt(helmaction.WithTLSClientConfig(certFile, keyFile, caFile))
}

// WithInsecureSkipTLSVerify sets whether a Push accepts any certificate from the registry.
func WithInsecureSkipTLSVerify(insecureSkipTLSVerify bool) PushOpt {
	return helmPushOpt(helmaction.WithInsecureSkipTLSVerify(insecureSkipTLSVerify))
}

// WithPlainHTTP sets whether a Push uses HTTP instead of HTTPS.
func WithPlainHTTP(plainHTTP bool) PushOpt { return helmPushOpt(helmaction.WithPlainHTTP(plainHTTP)) }

// WithPushOptWriter sets the writer to which a Push prints its messages.
func WithPushOptWriter(out io.Writer) PushOpt { return helmPushOpt(helmaction.WithPushOptWriter(out)) }

func helmPushOpt(option helmaction.PushOpt) PushOpt {
	return func(p *Push) { p.options = append(p.options, option) }
}

// NewPushWithOpts returns a Push with the given options.
func NewPushWithOpts(opts ...PushOpt) *Push {
	p := new(Push)
	for _, change := range opts {
		change(p)
	}
	return p
}

// Run uploads the chart archive chartRef to the registry remote, and returns the text that
// the command prints. If annotations in the archive's Chart.yaml are lists, Run uploads a
// copy in which they are JSON strings, because Helm's registry client cannot read the
// original. If such an archive is signed, Run returns an error instead, because the
// signature would not match the copy.
func (p *Push) Run(chartRef, remote string) (string, error) {
	helmPush := helmaction.NewPushWithOpts(p.options...)
	helmPush.Settings = p.Settings
	canonical, err := archive.CanonicalCopy(chartRef)
	switch {
	case err != nil:
		return "", err
	case canonical == "":
		return helmPush.Run(chartRef, remote)
	}
	out, err := helmPush.Run(canonical, remote)
	return out, errors.Join(err, os.RemoveAll(filepath.Dir(canonical)))
}
