// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/cli"

	"github.com/ordered-helm/helm/internal/chartloader"
)

// Push uploads charts, as Helm's Push does (docs/reference.md, "Packages").
type Push struct {
	Settings *cli.EnvSettings

	options []helmaction.PushOpt
}

// PushOpt is an option for NewPushWithOpts.
type PushOpt func(*Push)

// WithPushConfig sets the Configuration of a Push.
func WithPushConfig(cfg *Configuration) PushOpt { return helmPushOpt(helmaction.WithPushConfig(cfg)) }

// WithTLSClientConfig sets the TLS files: the client's certificate, its key, and the
// certificate authority.
func WithTLSClientConfig(certFile, keyFile, caFile string) PushOpt {
	return helmPushOpt(helmaction.WithTLSClientConfig(certFile, keyFile, caFile))
}

// WithInsecureSkipTLSVerify sets whether to skip verification of the registry's
// certificate.
func WithInsecureSkipTLSVerify(insecureSkipTLSVerify bool) PushOpt {
	return helmPushOpt(helmaction.WithInsecureSkipTLSVerify(insecureSkipTLSVerify))
}

// WithPlainHTTP sets whether to use HTTP instead of HTTPS.
func WithPlainHTTP(plainHTTP bool) PushOpt { return helmPushOpt(helmaction.WithPlainHTTP(plainHTTP)) }

// WithPushOptWriter sets the writer to which a Push prints its messages, as in Helm.
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
// the command prints. Helm's registry client cannot read an archive whose Chart.yaml has
// annotations that are lists. Run then uploads a copy in which these annotations are
// strings. If such an archive is signed, Run returns an error, because the signature would
// not match the copy.
func (p *Push) Run(chartRef, remote string) (string, error) {
	helms := helmaction.NewPushWithOpts(p.options...)
	helms.Settings = p.Settings
	legal, err := legalCopy(chartRef)
	switch {
	case err != nil:
		return "", err
	case legal == "":
		return helms.Run(chartRef, remote)
	}
	out, err := helms.Run(legal, remote)
	return out, errors.Join(err, os.RemoveAll(filepath.Dir(legal)))
}

// legalCopy creates a temporary copy of an archive in which annotations that are lists are
// replaced with strings, and returns the path of the copy. If there are no such
// annotations, it returns an empty path.
func legalCopy(chartRef string) (string, error) {
	data, info, err := readArchive(chartRef)
	if err != nil || data == nil {
		return "", err
	}
	legal, err := chartloader.CanonicalArchive(data)
	if err != nil || bytes.Equal(legal, data) {
		return "", err
	}
	if _, err := os.Stat(chartRef + ".prov"); err == nil {
		return "", fmt.Errorf("%s has annotations in its Chart.yaml that are lists, which registries do not accept, "+
			"and its signature covers them: package and sign the chart again with \"helm package --sign\"", chartRef)
	}
	dir, err := os.MkdirTemp("", "helm-push-")
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, filepath.Base(chartRef))
	if err = os.WriteFile(name, legal, 0o600); err == nil {
		// The upload contains the modification time of the archive as its creation time.
		err = os.Chtimes(name, info.ModTime(), info.ModTime())
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return name, nil
}

// readArchive reads the file name. If there is no such file, it returns neither data nor an
// error, so that Helm reports the error.
func readArchive(name string) ([]byte, os.FileInfo, error) {
	info, err := os.Stat(name)
	if err != nil || info.IsDir() {
		return nil, nil, nil //nolint:nilerr // Helm reports the error
	}
	data, err := os.ReadFile(name)
	return data, info, err
}
