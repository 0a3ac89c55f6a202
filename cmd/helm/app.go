// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/plugin"

	"github.com/ordered-helm/helm/internal/terminal"
	"github.com/ordered-helm/helm/pkg/action"
)

// app is what every command shares. There is one per run of the program.
type app struct {
	settings *cli.EnvSettings
	config   *action.Configuration
	profile  profiler

	// plugins are those that were found at the start.
	plugins []*plugin.Plugin

	// args are the words after the program's name, as the user typed them.
	args []string

	// in is a file, because passwords are read from a terminal.
	in     *os.File
	out    io.Writer
	errOut io.Writer
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	a := &app{
		settings: cli.New(),
		config:   new(action.Configuration),
		profile:  newProfiler(),
		args:     args,
		in:       os.Stdin,
		out:      out,
		errOut:   errOut,
	}
	action.Persevere(a.settings.RESTClientGetter())
	if err := newRootCmd(a).ExecuteContext(ctx); err != nil { //nolint:contextcheck // the commands have it from cobra
		a.debugf("%+v", err)
		return exitCode(err)
	}
	return 0
}

// debugf prints to the standard logger when --debug is given. Its signature is
// that of action.DebugLog; it may be called concurrently.
func (a *app) debugf(format string, v ...any) {
	if !a.settings.Debug {
		return
	}
	const callerOfDebugf = 2
	// A failed write of a debug line has nowhere to be reported.
	_ = log.Output(callerOfDebugf, fmt.Sprintf("%s [debug] %s\n", time.Now(), fmt.Sprintf(format, v...)))
}

// warnf prints a warning to standard error.
func (a *app) warnf(format string, v ...any) {
	fmt.Fprint(a.errOut, terminal.Sanitize(fmt.Sprintf("WARNING: "+format+"\n", v...)))
}

// printed takes what became of printing the result of an operation. That it could
// not be printed is no failure, as in Helm: who takes it for one would do again what
// has been done.
func (a *app) printed(err error) {
	if err != nil {
		a.warnf("the operation succeeded, but its result cannot be printed: %v", err)
	}
}

// connect readies the configuration for use; the global flags must have been
// parsed. It makes no network call.
func (a *app) connect() error {
	client, err := a.registryClient(registryOptions{})
	if err != nil {
		return err
	}
	a.config.RegistryClient = client

	storageDriver := os.Getenv("HELM_DRIVER")
	if err := a.config.Init(a.settings.RESTClientGetter(), a.settings.Namespace(), storageDriver, a.debugf); err != nil {
		return err
	}
	if storageDriver == "memory" {
		if err := a.loadMemoryReleases(); err != nil {
			return err
		}
	}
	a.config.SetHookOutputFunc(func(_, _, _ string) io.Writer { return a.errOut })
	return nil
}
