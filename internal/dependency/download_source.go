// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"errors"
	"fmt"
	"net/url"
	"path"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/getter"
	"helm.sh/helm/v3/pkg/registry"
	"helm.sh/helm/v3/pkg/repo"
)

// downloadSource says from where to download the archive of a dependency.
type downloadSource struct {
	url     string
	tag     string // the version; empty unless the URL is that of an OCI registry
	options []getter.Option
}

// locate determines from where to download dep: from an OCI registry, from a chart repository
// that the user has added, or from another chart repository, whose index locate downloads.
func (f *fetcher) locate(dep *chart.Dependency) (downloadSource, error) {
	if registry.IsOCI(dep.Repository) {
		return downloadSource{
			url: dep.Repository + "/" + dep.Name, tag: dep.Version,
			options: append(getterOptions(&repo.Entry{}), getter.WithRegistryClient(f.RegistryClient), getter.WithTagName(dep.Version)),
		}, nil
	}
	for _, r := range f.repositories {
		if !sameURL(dep.Repository, r.URL) {
			continue
		}
		found, err := r.chartURL(dep)
		return downloadSource{url: found, options: getterOptions(r.Entry)}, err
	}
	found, err := repo.FindChartInRepoURL(dep.Repository, dep.Name, dep.Version, "", "", "", f.Getters)
	if err != nil {
		return downloadSource{}, fmt.Errorf("chart %s not found in %s: %w", dep.Name, dep.Repository, err)
	}
	return downloadSource{url: found, options: getterOptions(&repo.Entry{})}, nil
}

func getterOptions(e *repo.Entry) []getter.Option {
	return []getter.Option{
		getter.WithBasicAuth(e.Username, e.Password),
		getter.WithPassCredentialsAll(e.PassCredentialsAll),
		getter.WithInsecureSkipVerifyTLS(e.InsecureSkipTLSverify),
		getter.WithTLSClientConfig(e.CertFile, e.KeyFile, e.CAFile),
	}
}

// chartURL returns the URL of the archive of dep, according to the index of the repository.
func (r addedRepository) chartURL(dep *chart.Dependency) (string, error) {
	entries, ok := r.index.Entries[dep.Name]
	if !ok {
		return "", errors.New("entry not found")
	}
	for _, e := range entries {
		if len(e.URLs) > 0 && (dep.Version == "" || sameVersion(dep.Version, e.Version)) {
			return absoluteURL(dep.Repository, e.URLs[0])
		}
	}
	return "", errors.New("no matching version")
}

func sameVersion(a, b string) bool {
	first, err := semver.NewVersion(a)
	if err != nil {
		return a == b
	}
	second, err := semver.NewVersion(b)
	return err == nil && first.Equal(second)
}

// absoluteURL returns urlOrPath as an absolute URL. urlOrPath is from the index of a chart
// repository, and can be relative to base, the URL of the repository.
func absoluteURL(base, urlOrPath string) (string, error) {
	u, err := url.Parse(urlOrPath)
	if err != nil {
		return urlOrPath, err
	}
	if u.IsAbs() {
		return u.String(), nil
	}
	absolute, err := url.Parse(base)
	if err != nil {
		return urlOrPath, fmt.Errorf("base URL failed to parse: %w", err)
	}
	absolute.RawPath = path.Join(absolute.RawPath, urlOrPath)
	absolute.Path = path.Join(absolute.Path, urlOrPath)
	return absolute.String(), nil
}
