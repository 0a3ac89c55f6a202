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

// Push uploads charts. It means the same as Helm's Push (docs/reference.md,
// "Packages").
type Push struct {
	Settings *cli.EnvSettings

	options []helmaction.PushOpt
}

// PushOpt changes a Push that is being made.
type PushOpt func(*Push)

// WithPushConfig gives a Push its configuration.
func WithPushConfig(cfg *Configuration) PushOpt { return helmPushOpt(helmaction.WithPushConfig(cfg)) }

// WithTLSClientConfig names the files for TLS: certificate, key and authority.
func WithTLSClientConfig(certFile, keyFile, caFile string) PushOpt {
	return helmPushOpt(helmaction.WithTLSClientConfig(certFile, keyFile, caFile))
}

// WithInsecureSkipTLSVerify says whether to take any certificate.
func WithInsecureSkipTLSVerify(insecureSkipTLSVerify bool) PushOpt {
	return helmPushOpt(helmaction.WithInsecureSkipTLSVerify(insecureSkipTLSVerify))
}

// WithPlainHTTP says whether to do without TLS.
func WithPlainHTTP(plainHTTP bool) PushOpt { return helmPushOpt(helmaction.WithPlainHTTP(plainHTTP)) }

// WithPushOptWriter gives a Push a writer, as Helm does.
func WithPushOptWriter(out io.Writer) PushOpt { return helmPushOpt(helmaction.WithPushOptWriter(out)) }

func helmPushOpt(option helmaction.PushOpt) PushOpt {
	return func(p *Push) { p.options = append(p.options, option) }
}

// NewPushWithOpts returns a Push with options.
func NewPushWithOpts(opts ...PushOpt) *Push {
	p := new(Push)
	for _, change := range opts {
		change(p)
	}
	return p
}

// Run uploads a chart archive and returns what is to be printed. One that no
// registry client of Helm's can read, because its Chart.yaml has lists for
// annotations, is uploaded in the legal spelling; one that is signed besides is
// refused, because the signature would be of something else.
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

// legalCopy makes a copy of an archive that has to be spelled otherwise to be
// uploaded; its path is empty for any other.
func legalCopy(chartRef string) (string, error) {
	data, info, err := readArchive(chartRef)
	if err != nil || data == nil {
		return "", err
	}
	legal, err := chartloader.LegalArchive(data)
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
		// The registry is told when the archive was made.
		err = os.Chtimes(name, info.ModTime(), info.ModTime())
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return name, nil
}

// readArchive reads a file; what is none is left to Helm to refuse.
func readArchive(name string) ([]byte, os.FileInfo, error) {
	info, err := os.Stat(name)
	if err != nil || info.IsDir() {
		return nil, nil, nil //nolint:nilerr // Helm says what is wrong with it
	}
	data, err := os.ReadFile(name)
	return data, info, err
}
