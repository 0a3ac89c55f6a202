// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luaplugin

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"runtime"

	"github.com/ordered-helm/helm/internal/luasandbox"
)

// noLimit means that there is no limit, in luasandbox.Limits.
const noLimit = -1

// Program is a Lua script that runs as a program inside this process, with all rights of the user.
type Program struct {
	// Owner describes the program, for example `plugin "diff"`. It is the beginning of each error
	// message.
	Owner string
	// File is the script.
	File string
	// Arguments are its arguments.
	Arguments []string
	// Environment contains the environment variables, as NAME=VALUE. The last value of a name
	// counts.
	Environment []string
	// Stdin, Stdout and Stderr are the standard streams.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Log receives the lines that the script logs. If it is nil, they are discarded.
	Log func(line string)
	// Cluster contains the functions of the table cluster, which read objects.
	Cluster map[string]luasandbox.GoFunction
	// Helm is the program that helm.run runs. The default is the running program.
	Helm string

	// text is the text of the script, or nil if it has not been read yet.
	text *string
}

// Read reads the script, so that it can still run when its file is deleted.
func (p *Program) Read() error {
	text, err := source(p.File)
	if err != nil {
		return err
	}
	p.text = &text
	return nil
}

// Run runs the program. The error is a *luasandbox.ExitError if the script exits with a code other
// than 0, and a *luasandbox.Error if it fails.
func (p *Program) Run(ctx context.Context) error {
	if p.text == nil {
		if err := p.Read(); err != nil {
			return err
		}
	}
	stdin, closeStdin := cancelable(ctx, p.Stdin)
	defer closeStdin()
	state := luasandbox.New(luasandbox.Options{
		Owner:       p.Owner,
		Permissions: []luasandbox.Permission{luasandbox.Network, luasandbox.Filesystem, luasandbox.Environment, luasandbox.Cluster},
		Log:         p.Log,
		HTTP:        http.DefaultClient,
		Cluster:     p.Cluster,
		LookupEnv:   lookupEnv(p.Environment, runtime.GOOS == windows),
		Process:     &luasandbox.Process{Arguments: p.Arguments, Stdin: stdin, Stdout: p.Stdout, Stderr: p.Stderr},
		Limits:      luasandbox.Limits{Time: noLimit, Memory: noLimit, Output: noLimit, String: noLimit},
	})
	defer state.Close()
	if err := state.Register("helm", map[string]luasandbox.GoFunction{"run": p.runHelm}); err != nil {
		return err
	}
	err := state.Load(ctx, filepath.Base(p.File), *p.text)
	if exit, exited := errors.AsType[*luasandbox.ExitError](err); exited {
		return exit
	}
	if ended := context.Cause(ctx); err != nil && ended != nil {
		return ended
	}
	return err
}
