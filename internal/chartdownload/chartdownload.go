// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package chartdownload downloads charts with the getters that the caller chooses, whereas Helm's
// actions choose theirs.
package chartdownload

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/downloader"
	"helm.sh/helm/v3/pkg/getter"
	"helm.sh/helm/v3/pkg/provenance"
	"helm.sh/helm/v3/pkg/registry"
	"helm.sh/helm/v3/pkg/repo"
)

// Options says how to download charts.
type Options struct {
	// Chart contains the repository, the version, the credentials and the TLS files.
	Chart    helmaction.ChartPathOptions
	Settings *cli.EnvSettings
	// Getters download files, by the schemes of their URLs.
	Getters getter.Providers
	// Registry downloads charts from OCI registries.
	Registry *registry.Client
	// Verify says whether provenance files are downloaded and checked.
	Verify downloader.VerificationStrategy
	// Out receives warnings.
	Out io.Writer
}

// Locate returns the path of the chart that reference refers to, like LocateChart of Helm's
// ChartPathOptions. It downloads the chart into the cache if it is not a local one.
func Locate(reference string, o Options) (string, error) {
	reference = strings.TrimSpace(reference)
	_, err := os.Stat(reference)
	if err == nil || filepath.IsAbs(reference) || strings.HasPrefix(reference, ".") {
		return o.Chart.LocateChart(reference, o.Settings)
	}
	if o.Chart.Verify {
		o.Verify = downloader.VerifyAlways
	}
	if err := os.MkdirAll(o.Settings.RepositoryCache, 0o755); err != nil {
		return "", err
	}
	file, _, err := Download(reference, o.Settings.RepositoryCache, o)
	if err != nil {
		return "", err
	}
	return filepath.Abs(file)
}

// Download downloads the chart that reference refers to into a directory, and returns the path of
// the file.
func Download(reference, dir string, o Options) (string, *provenance.Verification, error) {
	c := o.Chart
	version := strings.TrimSpace(c.Version)
	username, password := c.Username, c.Password
	if c.RepoURL != "" {
		chart, err := repo.FindChartInAuthAndTLSAndPassRepoURL(c.RepoURL, c.Username, c.Password, reference, version,
			c.CertFile, c.KeyFile, c.CaFile, c.InsecureSkipTLSverify, c.PassCredentialsAll, o.Getters)
		if err != nil {
			return "", nil, err
		}
		if !c.PassCredentialsAll && !haveSameOrigin(c.RepoURL, chart) {
			username, password = "", ""
		}
		reference = chart
	}
	if registry.IsOCI(reference) && o.Registry == nil {
		return "", nil, fmt.Errorf("unable to lookup chart %q, missing registry client", reference)
	}
	d := downloader.ChartDownloader{
		Out: o.Out, Keyring: c.Keyring, Verify: o.Verify, Getters: o.Getters, RegistryClient: o.Registry,
		RepositoryConfig: o.Settings.RepositoryConfig, RepositoryCache: o.Settings.RepositoryCache,
		Options: []getter.Option{
			getter.WithPassCredentialsAll(c.PassCredentialsAll),
			getter.WithTLSClientConfig(c.CertFile, c.KeyFile, c.CaFile),
			getter.WithInsecureSkipVerifyTLS(c.InsecureSkipTLSverify),
			getter.WithPlainHTTP(c.PlainHTTP),
			getter.WithBasicAuth(username, password),
		},
	}
	if registry.IsOCI(reference) {
		d.Options = append(d.Options, getter.WithRegistryClient(o.Registry))
	}
	return d.DownloadTo(reference, version, dir)
}

// haveSameOrigin reports whether two URLs have the same scheme, host and port, so that credentials
// for one can be sent to the other.
func haveSameOrigin(a, b string) bool {
	first, err := url.Parse(a)
	second, otherErr := url.Parse(b)
	return err == nil && otherErr == nil && first.Scheme == second.Scheme && first.Host == second.Host
}
