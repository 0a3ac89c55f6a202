// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package uploaderplugin runs uploaders: programs of plugins that upload charts to URLs of a
// scheme, as downloaders of plugins download them. The file uploaders.yaml in the directory of a
// plugin declares them (docs/reference.md, "Pushing").
package uploaderplugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/plugin"
	"sigs.k8s.io/yaml"
)

// FileName is the name of the file that declares the uploaders of a plugin.
const FileName = "uploaders.yaml"

// Uploader is a program of a plugin that uploads charts.
type Uploader struct {
	// Protocols are the schemes of URLs for which the program is used.
	Protocols []string `json:"protocols"`
	// Command is the path of the program, relative to the directory of the plugin, followed by
	// arguments. They are separated by spaces.
	Command string `json:"command"`

	// Plugin is the name of the plugin, and Dir its directory.
	Plugin string `json:"-"`
	Dir    string `json:"-"`
}

// All returns the uploaders of all plugins in the directories of the settings. If some of the
// plugins cannot be read, it also returns an error.
func All(settings *cli.EnvSettings) ([]Uploader, error) {
	plugins, err := plugin.FindPlugins(settings.PluginsDirectory)
	var all []Uploader
	for _, p := range plugins {
		uploaders, failed := load(p)
		all = append(all, uploaders...)
		err = errors.Join(err, failed)
	}
	return all, err
}

// load returns the uploaders of a plugin.
func load(p *plugin.Plugin) ([]Uploader, error) {
	path := filepath.Join(p.Dir, FileName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var uploaders []Uploader
	if err == nil {
		err = yaml.UnmarshalStrict(text, &uploaders)
	}
	if err != nil {
		return nil, fmt.Errorf("the uploaders of plugin %q cannot be read: %s: %w", p.Metadata.Name, path, err)
	}
	for i := range uploaders {
		u := &uploaders[i]
		if len(u.Protocols) == 0 || slices.Contains(u.Protocols, "") || len(strings.Fields(u.Command)) == 0 {
			return nil, fmt.Errorf("the uploaders of plugin %q cannot be read: %s: each uploader needs protocols and a command", p.Metadata.Name, path)
		}
		u.Plugin, u.Dir = p.Metadata.Name, p.Dir
	}
	return uploaders, nil
}

// Find returns the first uploader for a scheme.
func Find(uploaders []Uploader, scheme string) (u Uploader, found bool) {
	i := slices.IndexFunc(uploaders, func(u Uploader) bool { return slices.Contains(u.Protocols, scheme) })
	if i < 0 {
		return Uploader{}, false
	}
	return uploaders[i], true
}

// Upload describes a chart that is uploaded, and where to.
type Upload struct {
	// File is the path of the archive. The provenance file is at the same path with the
	// suffix .prov, if there is one.
	File string
	// URL is the URL of the repository.
	URL string
	// CertFile, KeyFile and CAFile are the paths of TLS files. They can be empty.
	CertFile, KeyFile, CAFile string
	Username, Password        string
	// AccessToken is a bearer token. It can be empty.
	AccessToken string
	// PassCredentialsAll is the setting of "helm repo add --pass-credentials".
	PassCredentialsAll bool
}

// Program is a program of a plugin that is to be run.
type Program struct {
	// Dir is the directory of the plugin.
	Dir string
	// Words are the path of the program, relative to Dir, and its arguments.
	Words []string
	// Env is the environment, in the form NAME=value. The last value of a name counts.
	Env []string
	// Output receives the standard output and the standard error of the program. Its standard
	// input is empty.
	Output io.Writer
}

// Run is a function that runs a program until it ends, or until ctx is done. If the exit code is
// not 0, it returns an *ExitError.
type Run func(ctx context.Context, p Program) error

// ExitError reports that a program ended with an exit code other than 0.
type ExitError struct{ Code int }

func (e *ExitError) Error() string { return "exit code " + strconv.Itoa(e.Code) }

// Upload runs the program of u with run, and returns when it has uploaded a chart.
func (u Uploader) Upload(ctx context.Context, settings *cli.EnvSettings, upload Upload, run Run, output io.Writer) error {
	p := Program{
		Dir:    u.Dir,
		Words:  append(strings.Fields(u.Command), upload.CertFile, upload.KeyFile, upload.CAFile, upload.URL, upload.File),
		Env:    append(u.environment(settings), upload.environment()...),
		Output: output,
	}
	err := run(ctx, p)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("the uploader of plugin %q was stopped: %w", u.Plugin, context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("the uploader of plugin %q failed: %w", u.Plugin, err)
	}
	return nil
}

// environment returns the environment of Helm's plugins.
func (u Uploader) environment(settings *cli.EnvSettings) []string {
	env := os.Environ()
	for name, value := range settings.EnvVars() {
		env = append(env, name+"="+value)
	}
	return append(env, "HELM_PLUGIN_NAME="+u.Plugin, "HELM_PLUGIN_DIR="+u.Dir)
}

// environment returns the variables with the credentials.
func (u Upload) environment() []string {
	env := []string{
		"HELM_PLUGIN_USERNAME=" + u.Username,
		"HELM_PLUGIN_PASSWORD=" + u.Password,
		"HELM_PLUGIN_PASS_CREDENTIALS_ALL=" + strconv.FormatBool(u.PassCredentialsAll),
	}
	if u.AccessToken != "" {
		env = append(env, "HELM_PLUGIN_ACCESS_TOKEN="+u.AccessToken)
	}
	return env
}
