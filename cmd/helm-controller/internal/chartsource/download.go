// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartsource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/downloader"
	"helm.sh/helm/v3/pkg/getter"
	"helm.sh/helm/v3/pkg/registry"
	"k8s.io/client-go/kubernetes"

	"github.com/ordered-helm/helm/cmd/helm-controller/api/v1alpha1"
	"github.com/ordered-helm/helm/internal/chartdownload"
	"github.com/ordered-helm/helm/pkg/action"
)

// downloadTimeout limits a download.
const downloadTimeout = 2 * time.Minute

// download downloads the package of a chart.
func download(ctx context.Context, client kubernetes.Interface, r *v1alpha1.HelmRequest, o Options) (_ []byte, err error) {
	source := r.Spec.Chart
	ctx, cancel := context.WithTimeoutCause(ctx, downloadTimeout, fmt.Errorf("the download took longer than %s", downloadTimeout))
	defer cancel()
	creds, err := readCredentials(ctx, client, r.Namespace, source.CredentialsSecret)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "chart-")
	if err != nil {
		return nil, fmt.Errorf("download the chart: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	limits := newTransport(ctx, o, creds)
	defer limits.transport.CloseIdleConnections()
	options, err := downloadOptions(source, limits.transport, creds, dir)
	if err != nil {
		return nil, err
	}
	reference := source.Name
	switch {
	case source.OCI != "":
		reference = source.OCI
	case source.URL != "":
		reference = source.URL
	}
	file, _, err := chartdownload.Download(reference, dir, options)
	if err != nil {
		return nil, downloadError(contextError(ctx, limits.explain(err)))
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the downloaded chart: %w", err)
	}
	return data, nil
}

// downloadOptions returns how to download a chart with the given transport.
func downloadOptions(source v1alpha1.ChartSource, transport *http.Transport, creds *credentials, dir string) (chartdownload.Options, error) {
	client, err := registryClient(source, transport, creds, dir)
	if err != nil {
		return chartdownload.Options{}, fail(ReasonCredentials, "create a client for the registry: %w", err)
	}
	get := func(options ...getter.Option) (getter.Getter, error) {
		return getter.NewHTTPGetter(append(options, getter.WithTransport(transport), getter.WithTimeout(downloadTimeout))...)
	}
	return chartdownload.Options{
		Chart: action.ChartPathOptions{
			RepoURL: source.Repository, Version: source.Version, Username: creds.username, Password: creds.password, PlainHTTP: source.PlainHTTP,
		},
		Settings: &cli.EnvSettings{RepositoryConfig: filepath.Join(dir, "repositories.yaml"), RepositoryCache: dir},
		Getters:  getter.Providers{{Schemes: []string{"http", "https"}, New: get}, {Schemes: []string{registry.OCIScheme}, New: getter.NewOCIGetter}},
		Registry: client, Verify: downloader.VerifyNever, Out: io.Discard,
	}, nil
}

func registryClient(source v1alpha1.ChartSource, transport *http.Transport, creds *credentials, dir string) (*registry.Client, error) {
	options := []registry.ClientOption{
		registry.ClientOptHTTPClient(&http.Client{Transport: transport, Timeout: downloadTimeout}),
		registry.ClientOptCredentialsFile(filepath.Join(dir, "credentials.json")), registry.ClientOptWriter(io.Discard),
	}
	if source.PlainHTTP {
		options = append(options, registry.ClientOptPlainHTTP())
	}
	// The index of a repository can name any registry.
	if source.OCI != "" && (creds.username != "" || creds.password != "") {
		options = append(options, registry.ClientOptBasicAuth(creds.username, creds.password))
	}
	return registry.NewClient(options...)
}

// downloadError classifies an error of Helm's packages, which have no types for them.
func downloadError(err error) error {
	var refused *refusedError
	if errors.As(err, &refused) {
		return fail(ReasonRefused, "download the chart: %w", refused)
	}
	text := err.Error()
	for _, missing := range []string{"404 Not Found", "not found in ", "no chart version found", "could not locate a version", "Unable to locate any tags", ": not found"} {
		if strings.Contains(text, missing) {
			return fail(ReasonNotFound, "download the chart: %w", err)
		}
	}
	return fail(ReasonUnavailable, "download the chart: %w", err)
}
