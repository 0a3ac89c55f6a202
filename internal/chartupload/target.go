// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartupload

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/registry"
	"helm.sh/helm/v3/pkg/repo"

	"github.com/ordered-helm/helm/internal/chartpush"
	"github.com/ordered-helm/helm/internal/chartrepo"
	"github.com/ordered-helm/helm/internal/clusterscript"
	"github.com/ordered-helm/helm/internal/luaplugin"
	"github.com/ordered-helm/helm/internal/luasandbox"
	"github.com/ordered-helm/helm/internal/similar"
	"github.com/ordered-helm/helm/internal/uploaderplugin"
)

// pushTarget is where a Push uploads charts to, with the options for it.
type pushTarget struct {
	*Push
	url string
	// repository is the added repository with this URL, if it was given by its name. Otherwise,
	// it is empty.
	repository repo.Entry
}

// target returns the target for remote: a URL, or the name of a repository.
func (p *Push) target(remote string) (*pushTarget, error) {
	if strings.Contains(remote, "://") || registry.IsOCI(remote) {
		return &pushTarget{Push: p, url: remote}, nil
	}
	known, err := chartrepo.LoadFile(p.settings().RepositoryConfig)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if entry := known.Get(remote); entry != nil {
		return &pushTarget{Push: p, url: entry.URL, repository: *entry}, nil
	}
	var names []string
	for _, entry := range known.Repositories {
		names = append(names, entry.Name)
	}
	suggestion := ""
	if nearest := similar.Nearest(remote, names); nearest != "" {
		suggestion = fmt.Sprintf(" (did you mean %q?)", nearest)
	}
	return nil, fmt.Errorf("scheme prefix missing from remote (e.g. %q), and no repository is named %q%s: \"helm repo add\" adds repositories",
		registry.OCIScheme+"://", remote, suggestion)
}

func (p *Push) settings() *cli.EnvSettings {
	if p.Settings == nil {
		return cli.New()
	}
	return p.Settings
}

// upload uploads an archive to a target that is not a registry.
func (t *pushTarget) upload(ctx context.Context, chartRef string) (string, error) {
	send, err := t.sender()
	if err != nil {
		return "", err
	}
	packed, err := chartpush.ReadArchive(chartRef)
	if err != nil {
		return "", err
	}
	if err := send(ctx, packed, chartRef); err != nil {
		return "", err
	}
	return fmt.Sprintf("Pushed: %s to %s\nDigest: sha256:%s\n", packed.FileName(), t.shownURL(), packed.Digest), nil
}

// sender returns the function that uploads an archive to the target.
func (t *pushTarget) sender() (func(ctx context.Context, packed *chartpush.Archive, chartRef string) error, error) {
	scheme, _, _ := strings.Cut(strings.ToLower(t.url), "://")
	if scheme == "http" || scheme == "https" {
		o := t.httpOptions()
		return func(ctx context.Context, packed *chartpush.Archive, _ string) error {
			return chartpush.Push(ctx, packed, t.url, o)
		}, o.Check()
	}
	uploaders, err := uploaderplugin.All(t.settings())
	uploader, found := uploaderplugin.Find(uploaders, scheme)
	if !found {
		return nil, errors.Join(unsupportedScheme(scheme, uploaders), err)
	}
	return func(ctx context.Context, _ *chartpush.Archive, chartRef string) error {
		return uploader.Upload(ctx, t.settings(), t.pluginUpload(chartRef), t.runUploader, t.out)
	}, t.rejectHTTPOptions()
}

// shownURL returns the URL without user name, password and query.
func (t *pushTarget) shownURL() string {
	u, err := url.Parse(t.url)
	if err != nil {
		return t.repository.Name
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}

func (t *pushTarget) httpOptions() chartpush.Options {
	credentials, files := t.credentials(), t.tlsFiles()
	return chartpush.Options{
		Method:      chartpush.Method(strings.ToLower(t.http.Method)),
		ContextPath: t.http.ContextPath,
		Force:       t.http.Force,
		UpdateIndex: t.http.UpdateIndex,
		Warn:        func(message string) { fmt.Fprintln(t.out, "WARNING:", message) },
		Connection: chartpush.Connection{
			Username: credentials.Username, Password: credentials.Password, AccessToken: credentials.AccessToken,
			CertFile: files.CertFile, KeyFile: files.KeyFile, CAFile: files.CAFile, InsecureSkipTLSVerify: files.InsecureSkipTLSverify,
			UserAgent: "Helm/" + strings.TrimPrefix(chartutil.DefaultCapabilities.HelmVersion.Version, "v"),
		},
	}
}

// credentials returns the options with the credentials of the repository, unless the options
// have other ones.
func (t *pushTarget) credentials() PushHTTPOptions {
	o := t.http
	if o.Username == "" && o.Password == "" && o.AccessToken == "" {
		o.Username, o.Password = t.repository.Username, t.repository.Password
	}
	return o
}

// tlsFiles returns the TLS settings of the repository, with those that are replaced by options.
func (t *pushTarget) tlsFiles() repo.Entry {
	files := t.repository
	if t.certFile != "" || t.keyFile != "" {
		files.CertFile, files.KeyFile = t.certFile, t.keyFile
	}
	if t.caFile != "" {
		files.CAFile = t.caFile
	}
	files.InsecureSkipTLSverify = files.InsecureSkipTLSverify || t.insecureSkipTLSVerify
	return files
}

// runUploader runs the program of an uploader: inside this process if it is a Lua script.
func (t *pushTarget) runUploader(ctx context.Context, p uploaderplugin.Program) error {
	script, err := luaplugin.Script(p.Dir, p.Words[0])
	if err != nil {
		return err
	}
	if script == "" {
		return uploaderplugin.Exec(ctx, p)
	}
	program := &luaplugin.Program{
		Owner: "uploader", File: script, Arguments: p.Words[1:], Environment: p.Env,
		Stdin: strings.NewReader(""), Stdout: p.Output, Stderr: p.Output,
		Cluster: clusterscript.Functions(t.settings().RESTClientGetter()),
	}
	err = program.Run(ctx)
	if exit, exited := errors.AsType[*luasandbox.ExitError](err); exited {
		return &uploaderplugin.ExitError{Code: exit.Code}
	}
	return err
}

// pluginUpload describes the upload of an archive for a plugin.
func (t *pushTarget) pluginUpload(chartRef string) uploaderplugin.Upload {
	credentials, files := t.credentials(), t.tlsFiles()
	return uploaderplugin.Upload{
		File: chartRef, URL: t.url, CertFile: files.CertFile, KeyFile: files.KeyFile, CAFile: files.CAFile,
		Username: credentials.Username, Password: credentials.Password, AccessToken: credentials.AccessToken,
		PassCredentialsAll: t.repository.PassCredentialsAll,
	}
}

// unsupportedScheme returns the error for a scheme that is not known. It lists those that are.
func unsupportedScheme(scheme string, uploaders []uploaderplugin.Uploader) error {
	schemes := []string{"http", "https", registry.OCIScheme}
	for _, u := range uploaders {
		schemes = append(schemes, u.Protocols...)
	}
	slices.Sort(schemes)
	return fmt.Errorf("scheme %q not supported: must be one of: %s; plugins can add others", scheme, strings.Join(slices.Compact(schemes), ", "))
}
