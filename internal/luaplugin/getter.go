// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luaplugin

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"reflect"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/getter"
	"helm.sh/helm/v3/pkg/plugin"

	"github.com/ordered-helm/helm/internal/luasandbox"
)

// Downloaders contains what downloaders of plugins need.
type Downloaders struct {
	Settings *cli.EnvSettings
	Plugins  []*plugin.Plugin
	// Stderr is the standard error of downloaders.
	Stderr io.Writer
	// Log receives the lines that downloaders log.
	Log func(line string)
	// Cluster contains the functions of the table cluster.
	Cluster map[string]luasandbox.GoFunction
}

// HaveScripts reports whether a downloader is a Lua script.
func (d Downloaders) HaveScripts() bool {
	for _, p := range d.Plugins {
		for _, declared := range p.Metadata.Downloaders {
			program, _, _ := strings.Cut(declared.Command, " ")
			if file, err := Script(p.Dir, program); file != "" || err != nil {
				return true
			}
		}
	}
	return false
}

// Getters returns the getters of Helm. Those of plugins whose downloader is a Lua script run it
// inside this process, until ctx ends.
func (d Downloaders) Getters(ctx context.Context, options ...getter.Option) getter.Providers {
	result := getter.Getters(options...)
	for _, p := range d.Plugins {
		for _, declared := range p.Metadata.Downloaders {
			result = append(result, getter.Provider{Schemes: declared.Protocols, New: d.constructor(ctx, p, declared.Command)})
		}
	}
	return result
}

// constructor returns the constructor of the getter that runs the downloader of a plugin.
func (d Downloaders) constructor(ctx context.Context, p *plugin.Plugin, command string) getter.Constructor {
	words := strings.Split(command, " ")
	file, err := Script(p.Dir, words[0])
	if file == "" && err == nil {
		return getter.NewPluginGetter(command, d.Settings, p.Metadata.Name, p.Dir)
	}
	return func(options ...getter.Option) (getter.Getter, error) {
		return &downloader{Downloaders: d, run: func(o getterOptions, url string) (*bytes.Buffer, error) {
			if err != nil {
				return nil, err
			}
			return d.download(ctx, p, file, append(words[1:len(words):len(words)], o.certFile, o.keyFile, o.caFile, url), o)
		}, options: options}, nil
	}
}

func (d Downloaders) download(ctx context.Context, p *plugin.Plugin, file string, arguments []string, o getterOptions) (*bytes.Buffer, error) {
	plugin.SetupPluginEnv(d.Settings, p.Metadata.Name, p.Dir)
	var out bytes.Buffer
	program := &Program{
		Owner:     fmt.Sprintf("plugin %q", p.Metadata.Name),
		File:      file,
		Arguments: arguments,
		Environment: append(os.Environ(), "HELM_PLUGIN_USERNAME="+o.username, "HELM_PLUGIN_PASSWORD="+o.password,
			"HELM_PLUGIN_PASS_CREDENTIALS_ALL="+strconv.FormatBool(o.passCredentialsAll)),
		Stdin:   strings.NewReader(""),
		Stdout:  &out,
		Stderr:  d.Stderr,
		Log:     d.Log,
		Cluster: d.Cluster,
	}
	if err := program.Run(ctx); err != nil {
		return nil, fmt.Errorf("the downloader of plugin %q failed: %w", p.Metadata.Name, err)
	}
	return &out, nil
}

// downloader is a getter that runs a Lua script.
type downloader struct {
	Downloaders
	run     func(o getterOptions, url string) (*bytes.Buffer, error)
	options []getter.Option
}

// Get runs the script, and returns what it has written to its standard output.
func (d *downloader) Get(url string, options ...getter.Option) (*bytes.Buffer, error) {
	return d.run(readOptions(append(d.options, options...)), url)
}

// getterOptions contains the options of getters that downloaders of plugins receive.
type getterOptions struct {
	certFile, keyFile, caFile string
	username, password        string
	passCredentialsAll        bool
}

// readOptions applies options, and returns their values. Helm has no exported function for it.
func readOptions(options []getter.Option) getterOptions {
	target := reflect.New(reflect.TypeFor[getter.Option]().In(0).Elem())
	for _, option := range options {
		reflect.ValueOf(option).Call([]reflect.Value{target})
	}
	text := func(field string) string { return target.Elem().FieldByName(field).String() }
	return getterOptions{
		certFile: text("certFile"), keyFile: text("keyFile"), caFile: text("caFile"),
		username: text("username"), password: text("password"),
		passCredentialsAll: target.Elem().FieldByName("passCredentialsAll").Bool(),
	}
}
